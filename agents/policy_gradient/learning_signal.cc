#include "agents/policy_gradient/learning_signal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emplace {
LearningSignal::LearningSignal(const PolicyGradientConfig& config,
                               std::shared_ptr<const Problem> problem)
    : config_(config),
      problem_(std::move(problem)),
      reward_(config.reward, *problem_, "reward"),
      baseline_(config.baseline, reward_.failing_cost(), "baseline") {
}

int LearningSignal::NumSamples(const Evaluator& evaluator) const {
  return static_cast<int>(std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.samples));
}

const Placement* LearningSignal::ToImitate() const {
  return config_.imitation_weight > 0 && best_ ? &*best_ : nullptr;
}

LearningSignal::Batch LearningSignal::Take(std::span<const Placement> placements,
                                           std::span<const Outcome> outcomes,
                                           std::int64_t update) {
  Batch batch{Matrix::Zero(static_cast<int>(outcomes.size()), 1)};
  std::vector<double> costs;
  std::vector<int> rows;  // of the costs
  ++stale_updates_;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const double cost = reward_.Cost(outcome);
    batch.mean_cost += cost / static_cast<double>(outcomes.size());
    batch.feasible += outcome.feasible / static_cast<double>(outcomes.size());
    if (!best_ || Better(outcome, best_outcome_)) {
      best_ = placements[i];
      best_outcome_ = outcome;
      stale_updates_ = 0;
    }
    const bool valid_only = config_.valid_only_after > 0 && update >= config_.valid_only_after;
    if (valid_only && !outcome.feasible) continue;
    costs.push_back(cost);
    rows.push_back(static_cast<int>(i));
  }

  std::vector<double> advantages = baseline_.Advantages(costs);
  if (config_.normalize_advantages) NormalizeAdvantages(advantages, costs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    batch.weights(rows[i], 0) =
        static_cast<float>(advantages[i] / static_cast<double>(rows.size()));
  }
  return batch;
}

double LearningSignal::best_step_time() const {
  return best_ && best_outcome_.feasible ? static_cast<double>(best_outcome_.step_time)
                                         : std::numeric_limits<double>::quiet_NaN();
}

void LearningSignal::Reset() {
  baseline_ = Baseline(config_.baseline, reward_.failing_cost(), "baseline");
  best_.reset();
  stale_updates_ = 0;
}

void LearningSignal::Save(StateWriter& writer) const {
  writer.Double(baseline_.value());
  writer.Int(stale_updates_);
  writer.Int(best_.has_value());
  if (best_) {
    writer.Devices(*best_);
    writer.Result(best_outcome_);
  }
}

void LearningSignal::Load(StateReader& reader) {
  baseline_.set_value(reader.Double("a baseline"));
  stale_updates_ = static_cast<int>(reader.Count("a number of updates"));
  best_.reset();
  if (reader.Flag()) {
    best_ = reader.Devices(*problem_);
    best_outcome_ = reader.Result(*problem_);
  }
}

}  // namespace emplace
