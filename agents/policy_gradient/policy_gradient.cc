#include "agents/policy_gradient/policy_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "agents/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> kColumns = {"restarts",
                                           "evaluations",
                                           "loss",
                                           "entropy",
                                           "gradient_norm",
                                           "learning_rate",
                                           "baseline",
                                           "mean_cost",
                                           "best_step_time_ns",
                                           "feasible"};

/// Divides by the root mean square; differences that are no more than rounding become 0.
void Normalize(std::vector<double>& advantages, std::span<const double> costs) {
  double squares = 0, largest = 0;
  for (double advantage : advantages) squares += advantage * advantage;
  for (double cost : costs) largest = std::max(largest, std::abs(cost));
  const double rms = std::sqrt(squares / static_cast<double>(advantages.size()));
  const double factor = rms > 1e-12 * largest ? 1 / rms : 0;
  for (double& advantage : advantages) advantage *= factor;
}

}  // namespace

void PolicyGradientConfig::Visit(FieldVisitor& v) {
  v.Field("samples", samples, "placements per update");
  v.Group("reward", "what a placement costs", [this](FieldVisitor& g) { reward.Visit(g); });
  v.Group("baseline", "what is subtracted from it", [this](FieldVisitor& g) { baseline.Visit(g); });
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the batch");
  v.Field("per_decision",
          per_decision,
          "divide log-probabilities and entropies by the number of decisions of a placement");
  v.Field("valid_only_after",
          valid_only_after,
          "updates after which only placements that fit count; 0: all always count");
  v.Field("entropy_weight", entropy_weight, "weight of the entropy bonus");
  v.Field("entropy_updates",
          entropy_updates,
          "updates over which that weight falls linearly to 0; 0: it stays");
  v.Field("imitation_weight", imitation_weight, "pull towards the best placement so far");
  v.Field("patience",
          patience,
          "updates without a better placement before a restart; 0: never restarts");
  v.Group("optimizer", "gradient descent", [this](FieldVisitor& g) { optimizer.Visit(g); });
}

PolicyGradient::PolicyGradient(const PolicyGradientConfig& config,
                               std::shared_ptr<const Problem> problem,
                               ParameterSet& parameters)
    : config_(config),
      problem_(std::move(problem)),
      parameters_(parameters),
      reward_(config.reward, *problem_, "reward"),
      baseline_(config.baseline, reward_.failing_cost(), "baseline"),
      optimizer_(config.optimizer, parameters, "optimizer"),
      table_{kColumns, {}} {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool others = config.baseline.method == "leave_one_out";
  RequireRange("samples", config.samples, others ? 2 : 1, 1e6);
  RequireRange("valid_only_after", config.valid_only_after, 0, kInfinity);
  RequireRange("entropy_weight", config.entropy_weight, 0, kInfinity);
  RequireRange("entropy_updates", config.entropy_updates, 0, kInfinity);
  RequireRange("imitation_weight", config.imitation_weight, 0, kInfinity);
  RequireRange("patience", config.patience, 0, kInfinity);
}

int PolicyGradient::NumSamples(const Evaluator& evaluator) const {
  return static_cast<int>(std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.samples));
}

const Placement* PolicyGradient::ToImitate() const {
  return config_.imitation_weight > 0 && best_ ? &*best_ : nullptr;
}

PolicyGradient::Signal PolicyGradient::Take(std::span<const Placement> placements,
                                            std::span<const Outcome> outcomes) {
  Signal signal{Matrix::Zero(static_cast<int>(outcomes.size()), 1), 0, 0};
  std::vector<double> costs;
  std::vector<int> rows;  // of the costs
  ++stale_updates_;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const double cost = reward_.Cost(outcome);
    signal.mean_cost += cost / static_cast<double>(outcomes.size());
    signal.feasible += outcome.feasible / static_cast<double>(outcomes.size());
    if (!best_ || Better(outcome, best_outcome_)) {
      best_ = placements[i];
      best_outcome_ = outcome;
      stale_updates_ = 0;
    }
    const bool valid_only = config_.valid_only_after > 0 && updates() >= config_.valid_only_after;
    if (valid_only && !outcome.feasible) continue;
    costs.push_back(cost);
    rows.push_back(static_cast<int>(i));
  }
  evaluations_ += static_cast<std::int64_t>(outcomes.size());

  std::vector<double> advantages = baseline_.Advantages(costs);
  if (config_.normalize_advantages) Normalize(advantages, costs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    signal.weights(rows[i], 0) =
        static_cast<float>(advantages[i] / static_cast<double>(rows.size()));
  }
  return signal;
}

Var PolicyGradient::Loss(Tape& tape, const Sampled& sampled, const Matrix& weights) const {
  const double scale = config_.per_decision ? 1.0 / std::max(sampled.num_decisions, 1) : 1;
  const double left = config_.entropy_updates == 0
                          ? 1
                          : 1 - static_cast<double>(updates()) / config_.entropy_updates;
  const Var weighted = Multiply(tape, sampled.log_probability, tape.Constant(weights));
  Var loss = Scale(tape, SumAll(tape, weighted), static_cast<float>(scale));
  const auto reward = [&](Var term, double weight) {
    loss = Subtract(tape, loss, Scale(tape, term, static_cast<float>(weight * scale)));
  };
  if (config_.entropy_weight > 0 && left > 0)
    reward(sampled.entropy, config_.entropy_weight * left);
  if (sampled.best_log_probability) reward(*sampled.best_log_probability, config_.imitation_weight);
  return loss;
}

void PolicyGradient::ThrowNotFinite(const Tape& tape) const {
  const std::string what = tape.FirstNonFinite();
  throw RunError(fmt::format(
      "update {}: not finite: {}", table_.num_rows(), what.empty() ? "the loss" : what));
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            Evaluator& evaluator) {
  Update(tape, sampled, placements, evaluator.Evaluate(placements));
}

void PolicyGradient::Update(Tape& tape,
                            const Sampled& sampled,
                            std::span<const Placement> placements,
                            std::span<const Outcome> outcomes) {
  EMPLACE_CHECK(tape.rows(sampled.log_probability) == static_cast<int>(placements.size()));
  const Signal signal = Take(placements, outcomes);
  const Var loss_var = Loss(tape, sampled, signal.weights);
  const double loss = tape.value(loss_var)(0, 0);
  const double entropy = tape.value(sampled.entropy)(0, 0) / std::max(sampled.num_decisions, 1);
  if (!std::isfinite(loss)) ThrowNotFinite(tape);
  tape.Backward(loss_var);
  const Optimizer::StepInfo info = optimizer_.Step();
  if (!std::isfinite(info.gradient_norm)) ThrowNotFinite(tape);
  tape.Clear();

  const double best = best_outcome_.feasible ? static_cast<double>(best_outcome_.step_time) : kNan;
  for (double value : {static_cast<double>(restarts_),
                       static_cast<double>(evaluations_),
                       loss,
                       entropy,
                       info.gradient_norm,
                       info.learning_rate,
                       baseline_.value(),
                       signal.mean_cost,
                       best,
                       signal.feasible}) {
    table_.values.push_back(value);
  }
}

void PolicyGradient::Restart(const ParameterSet& fresh) {
  EMPLACE_CHECK(fresh.all().size() == parameters_.all().size());
  for (std::size_t i = 0; i < fresh.all().size(); ++i) {
    EMPLACE_CHECK(fresh.all()[i].name == parameters_.all()[i].name);
    parameters_.all()[i].value = fresh.all()[i].value;
  }
  optimizer_.Reset();
  baseline_ = Baseline(config_.baseline, reward_.failing_cost(), "baseline");
  best_.reset();
  stale_updates_ = 0;
  ++restarts_;
}

void PolicyGradient::Save(StateWriter& writer) const {
  SaveLearner(writer, parameters_, optimizer_);
  writer.Double(baseline_.value());
  writer.Int(evaluations_);
  writer.Int(restarts_);
  writer.Int(stale_updates_);
  writer.Int(best_.has_value());
  if (best_) {
    writer.Devices(*best_);
    writer.Result(best_outcome_);
  }
  writer.Table(table_);
}

void PolicyGradient::Load(StateReader& reader) {
  LoadLearner(reader, parameters_, optimizer_);
  baseline_.set_value(reader.Double("a baseline"));
  evaluations_ = reader.Int("a number of evaluations");
  restarts_ = static_cast<int>(reader.Int("a number of restarts"));
  stale_updates_ = static_cast<int>(reader.Int("a number of updates"));
  best_.reset();
  if (reader.Int("0 or 1") != 0) {
    best_ = reader.Devices();
    best_outcome_ = reader.Result();
  }
  reader.Table(table_);
}

}  // namespace emplace
