#include "agents/policy_gradient/policy_gradient.h"

#include <algorithm>
#include <cmath>

#include "agents/policy_gradient/learner_state.h"
#include "agents/policy_gradient/not_finite.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

std::vector<std::string> Columns(const PolicyGradientConfig& config) {
  std::vector<std::string> columns = {"restarts",
                                      "evaluations",
                                      "loss",
                                      "entropy",
                                      "gradient_norm",
                                      "learning_rate",
                                      "baseline",
                                      "mean_cost",
                                      "best_step_time_ns",
                                      "feasible"};
  if (config.ppo.epochs > 1) columns.insert(columns.end(), {"kl", "kl_weight"});
  return columns;
}

const PolicyGradientConfig& Validated(const PolicyGradientConfig& config) {
  config.Validate();
  return config;
}

}  // namespace

PolicyGradient::PolicyGradient(const PolicyGradientConfig& config,
                               std::shared_ptr<const Problem> problem,
                               ParameterSet& parameters)
    : config_(Validated(config)),
      parameters_(parameters),
      signal_(config, std::move(problem)),
      optimizer_(config.optimizer, parameters, "optimizer"),
      ppo_(config.ppo, "ppo"),
      table_{Columns(config), {}} {
}

void PolicyGradient::ThrowNotFinite(const Tape& tape) const {
  emplace::ThrowNotFinite(table_.num_rows(), tape);
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            Evaluator& evaluator,
                            const Rescore& rescore) {
  Update(tape, sampled, placements, evaluator.Evaluate(placements), rescore);
}

Optimizer::StepInfo PolicyGradient::Descend(Tape& tape, Var loss) {
  if (!std::isfinite(tape.value(loss)(0, 0))) ThrowNotFinite(tape);
  tape.Backward(loss);
  const Optimizer::StepInfo info = optimizer_.Step();
  if (!std::isfinite(info.gradient_norm)) ThrowNotFinite(tape);
  tape.Clear();
  return info;
}

double PolicyGradient::DescendAgain(Tape& tape,
                                    const Matrix& weights,
                                    const DrawnDecisions& drawn,
                                    std::int64_t update,
                                    const Rescore& rescore) {
  double kl = 0;
  for (int epoch = 1; epoch < config_.ppo.epochs; ++epoch) {
    const Sampled scored = rescore(tape);
    const Var surrogate = PpoSurrogate(tape, config_, ppo_, scored, weights, drawn, kl);
    Descend(tape, PolicyLoss(tape, config_, scored, surrogate, update));
  }
  return kl;
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            std::span<const Outcome> outcomes,
                            const Rescore& rescore) {
  EMPLACE_CHECK(tape.rows(sampled.log_probability) == static_cast<int>(placements.size()));
  const bool again = config_.ppo.epochs > 1;
  EMPLACE_CHECK(!again || (rescore && sampled.decisions));
  const std::int64_t update = updates();
  const LearningSignal::Batch batch = signal_.Take(placements, outcomes, update);
  evaluations_ += static_cast<std::int64_t>(outcomes.size());
  const Var surrogate = GradientSurrogate(tape, config_, sampled, batch.weights);
  const Var loss_var = PolicyLoss(tape, config_, sampled, surrogate, update);
  const double loss = tape.value(loss_var)(0, 0);
  const double entropy = tape.value(sampled.entropy)(0, 0) / std::max(sampled.num_decisions, 1);
  const DrawnDecisions drawn = again ? DrawnDecisions(tape, *sampled.decisions) : DrawnDecisions();
  const Optimizer::StepInfo info = Descend(tape, loss_var);

  std::vector<double> row = {static_cast<double>(restarts_),
                             static_cast<double>(evaluations_),
                             loss,
                             entropy,
                             info.gradient_norm,
                             info.learning_rate,
                             signal_.baseline(),
                             batch.mean_cost,
                             signal_.best_step_time(),
                             batch.feasible};
  if (again) {
    const double kl = DescendAgain(tape, batch.weights, drawn, update, rescore);
    row.insert(row.end(), {kl, ppo_.kl_weight()});
    ppo_.Observe(kl);
  }
  table_.values.insert(table_.values.end(), row.begin(), row.end());
}

void PolicyGradient::Restart(const ParameterSet& fresh) {
  CopyValues(fresh, parameters_);
  optimizer_.Reset();
  ppo_.set_kl_weight(config_.ppo.kl_weight);
  signal_.Reset();
  ++restarts_;
}

void PolicyGradient::Save(StateWriter& writer) const {
  SaveLearner(writer, parameters_, optimizer_);
  writer.Double(ppo_.kl_weight());
  signal_.Save(writer);
  writer.Int(evaluations_);
  writer.Int(restarts_);
  writer.Table(table_);
}

void PolicyGradient::Load(StateReader& reader) {
  LoadLearner(reader, parameters_, optimizer_);
  ppo_.set_kl_weight(reader.Double("a weight of the divergence"));
  signal_.Load(reader);
  evaluations_ = reader.Count("a number of evaluations");
  restarts_ = static_cast<int>(reader.Count("a number of restarts"));
  reader.Table(table_);
}

}  // namespace emplace
