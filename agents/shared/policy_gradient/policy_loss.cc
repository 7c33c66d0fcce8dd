#include "agents/shared/policy_gradient/policy_loss.h"

#include <algorithm>

#include "framework/learn/ops.h"

namespace emplace {
namespace {

double ScaleOf(const PolicyGradientConfig& config, const PolicySample& sample) {
  return config.per_decision ? 1.0 / std::max(sample.num_decisions, 1) : 1;
}

}  // namespace

DrawnDecisions::DrawnDecisions(const Tape& tape, const PolicySample::Decisions& decisions)
    : log_probability(tape.value(decisions.log_probability)),
      log_distribution(tape.value(decisions.log_distribution)) {
}

Var GradientSurrogate(Tape& tape,
                      const PolicyGradientConfig& config,
                      const PolicySample& sample,
                      const Matrix& weights) {
  const Var weighted = Multiply(tape, sample.log_probability, tape.Constant(weights));
  return Scale(tape, SumAll(tape, weighted), static_cast<float>(ScaleOf(config, sample)));
}

Var PpoSurrogate(Tape& tape,
                 const PolicyGradientConfig& config,
                 const Ppo& ppo,
                 const PolicySample& sample,
                 const Matrix& weights,
                 const DrawnDecisions& drawn,
                 double& kl) {
  const PolicySample::Decisions& decisions = *sample.decisions;
  const auto count = static_cast<float>(decisions.sample.size());
  const auto samples = static_cast<float>(weights.rows());
  const Var divergence = KlDivergence(tape, drawn.log_distribution, decisions.log_distribution);
  kl = tape.value(divergence)(0, 0);
  // Ppo averages over the n decisions of all samples; the loss needs the sum over one sample's.
  Matrix advantages(decisions.sample.size(), 1);
  for (int i = 0; i < advantages.rows(); ++i) {
    advantages(i, 0) = samples * weights(decisions.sample[i], 0);
  }
  const Var mean =
      ppo.Loss(tape, decisions.log_probability, drawn.log_probability, advantages, divergence);
  const auto scale = static_cast<float>(ScaleOf(config, sample));
  return Scale(tape, mean, scale * count / samples);
}

Var PolicyLoss(Tape& tape,
               const PolicyGradientConfig& config,
               const PolicySample& sample,
               Var surrogate,
               std::int64_t update,
               double entropy_factor) {
  const double scale = ScaleOf(config, sample);
  const double left =
      config.entropy_updates == 0 ? 1 : 1 - static_cast<double>(update) / config.entropy_updates;
  Var loss = surrogate;
  const auto reward = [&](Var term, double weight) {
    loss = Subtract(tape, loss, Scale(tape, term, static_cast<float>(weight * scale)));
  };
  if (config.entropy_weight > 0 && left > 0) {
    reward(sample.entropy, config.entropy_weight * entropy_factor * left);
  }
  if (sample.best_log_probability) reward(*sample.best_log_probability, config.imitation_weight);
  return loss;
}

}  // namespace emplace
