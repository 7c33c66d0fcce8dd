// The advantages of the episodes of an update, its loss and its steps of descent.

#include <algorithm>
#include <cmath>

#include "agents/placeto/all_actions.h"
#include "agents/placeto/placeto_learner.h"
#include "agents/shared/policy_gradient/baseline.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr int kBatchRows = 1024;  // groups times states of a batch that fits the caches

}  // namespace

void PlacetoLearner::Weigh(Task& task, std::span<Sampled> episodes) const {
  const auto steps = std::ssize(task.problem().order());
  if (config_.episode.reward == "all_actions") {
    for (Sampled& sampled : episodes) {
      sampled.advantages = -ActionAdvantages(sampled.episode.steps, sampled.log_probabilities);
    }
    return;
  }
  std::vector<std::vector<double>>& window = task.gains;
  for (const Sampled& sampled : episodes) {
    std::vector<double>& gains = window.emplace_back();
    for (const EpisodeStep& step : sampled.episode.steps) gains.push_back(step.gain);
  }
  const auto kept = std::max<std::ptrdiff_t>(config_.baseline_episodes, std::ssize(episodes));
  if (std::ssize(window) > kept) window.erase(window.begin(), window.end() - kept);

  std::vector<double> baseline(steps), factor(steps, 1.0), deviations(window.size());
  for (std::ptrdiff_t t = 0; t < steps && config_.baseline_episodes > 0; ++t) {
    double largest = 0;
    for (const auto& gains : window) {
      baseline[t] += gains[t] / static_cast<double>(window.size());
      largest = std::max(largest, std::abs(gains[t]));
    }
    if (config_.advantage != "standardized") continue;
    for (std::size_t i = 0; i < window.size(); ++i) deviations[i] = window[i][t] - baseline[t];
    factor[t] = NormalizingFactor(deviations, largest);
  }
  for (Sampled& sampled : episodes) {
    std::vector<double> advantages(steps);
    sampled.advantages.resize(steps, 1);
    double largest = 0;
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      const double gain = sampled.episode.steps[t].gain;
      advantages[t] = factor[t] * (gain - baseline[t]);
      sampled.advantages(t, 0) = static_cast<float>(-advantages[t]);
      largest = std::max({largest, std::abs(factor[t] * gain), std::abs(factor[t] * baseline[t])});
    }
    if (config_.normalize_advantages && steps > 0) {
      sampled.advantages *= static_cast<float>(NormalizingFactor(advantages, largest));
    }
  }
}

PlacetoLearner::Learned PlacetoLearner::Differentiate(Task& task,
                                                      const Sampled& sampled,
                                                      double entropy_weight) const {
  const int learnt = static_cast<int>(sampled.learnt.size());
  const auto steps = static_cast<float>(sampled.devices.size());
  const int batch_states = std::max(1, kBatchRows / task.problem().graph().num_groups());
  Learned learned;
  Tape tape(interrupt_);
  for (int begin = 0; begin < learnt; begin += batch_states) {
    const int count = std::min(batch_states, learnt - begin);
    std::vector<const PlacetoState*> states;
    std::vector<int> devices, best;
    Matrix weights(count, 1), advantages(count, sampled.advantages.cols()),
        old(count, sampled.log_probabilities.cols());
    for (int i = 0; i < count; ++i) {
      const auto [t, weight] = sampled.learnt[begin + i];
      states.push_back(&sampled.episode.steps[t].state);
      devices.push_back(sampled.devices[t]);
      best.push_back(task.best.placement()->device[states.back()->current]);
      weights(i, 0) = weight;
      advantages.row(i) = sampled.advantages.row(t);
      old.row(i) = sampled.log_probabilities.row(t);
    }
    const PlacetoBatch batch = task.problem().features().Batch(states);
    const Var choices = task.network.LogProbabilities(tape, task.problem().graph(), batch);
    Matrix old_picked(count, 1);
    for (int i = 0; i < count; ++i) old_picked(i, 0) = old(i, devices[i]);

    Var kl = tape.Constant(Matrix::Zero(1, 1));
    if (core_.ppo().needs_kl()) kl = KlDivergence(tape, old, choices, &weights);
    const Var picked = Pick(tape, choices, devices);
    const auto mean = [&](Var rows) {
      return MeanAll(tape, Multiply(tape, rows, tape.ConstantView(weights)));
    };
    Var loss;
    if (config_.episode.reward == "all_actions") {
      const Var costs = Multiply(tape, Exp(tape, choices), tape.ConstantView(advantages));
      loss = mean(SumOverCols(tape, costs));
    } else {
      const Matrix weighted = advantages.cwiseProduct(weights);
      loss = core_.ppo().Loss(tape, picked, old_picked, weighted, kl);
    }
    const Var entropy = mean(Entropy(tape, choices));
    loss = Subtract(tape, loss, Scale(tape, entropy, static_cast<float>(entropy_weight)));
    if (config_.imitation_weight > 0) {
      const Var imitated = mean(Pick(tape, choices, best));
      loss =
          Subtract(tape, loss, Scale(tape, imitated, static_cast<float>(config_.imitation_weight)));
    }
    const float share = static_cast<float>(count) / steps;
    const auto parts = static_cast<float>(std::ssize(tasks_) * config_.episodes);
    const Var part = Scale(tape, loss, share / parts);
    if (!std::isfinite(tape.value(part)(0, 0))) ThrowNotFinite(updates_, tape);
    learned.loss += tape.value(part)(0, 0);
    learned.entropy += share * tape.value(entropy)(0, 0) / parts;
    learned.kl += share * tape.value(kl)(0, 0) / parts;
    tape.Backward(part);
    tape.Clear();
  }
  return learned;
}

void PlacetoLearner::Learn(std::span<std::vector<Sampled>> sampled, PlacetoRow& row) {
  const int count = static_cast<int>(tasks_.size());
  for (int i = 0; i < count; ++i) Weigh(*tasks_[i], sampled[i]);
  row.loss = row.entropy = 0;
  for (int epoch = 0; epoch < core_.ppo().epochs(); ++epoch) {
    std::vector<Learned> parts(count);
    const Optimizer::StepInfo info = core_.DescendTogether(threads_, updates_, 1, [&](int i) {
      for (const Sampled& each : sampled[i]) {
        const Learned learned = Differentiate(*tasks_[i], each, row.entropy_weight);
        parts[i].loss += learned.loss;
        parts[i].entropy += learned.entropy;
        parts[i].kl += learned.kl;
      }
    });
    double kl = 0;
    for (const Learned& part : parts) {
      if (epoch == 0) row.loss += part.loss;
      if (epoch == 0) row.entropy += part.entropy;
      kl += part.kl;
    }
    if (epoch == core_.ppo().epochs() - 1) core_.ppo().Observe(kl);
    row.gradient_norm = info.gradient_norm;
    row.learning_rate = info.learning_rate;
  }
}

}  // namespace emplace
