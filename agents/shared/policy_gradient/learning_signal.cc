#include "agents/shared/policy_gradient/learning_signal.h"

#include <algorithm>

namespace emplace {

LearningSignal::LearningSignal(const PolicyGradientConfig& config,
                               std::shared_ptr<const Problem> problem)
    : config_(config),
      problem_(std::move(problem)),
      reward_(config.reward, *problem_, "reward"),
      baseline_(config.baseline, reward_.failing_cost(), "baseline"),
      patience_(config.patience) {
}

int LearningSignal::NumSamples(const Evaluator& evaluator) const {
  return static_cast<int>(std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.samples));
}

const Placement* LearningSignal::ToImitate() const {
  return config_.imitation_weight > 0 ? best_.placement() : nullptr;
}

LearningSignal::Batch LearningSignal::Take(std::span<const Placement> placements,
                                           std::span<const Score> scores,
                                           std::int64_t update) {
  Batch batch{Matrix::Zero(static_cast<int>(scores.size()), 1)};
  std::vector<double> costs;
  std::vector<int> rows;  // rows of the costs
  bool better = false;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    const double cost = reward_.Cost(score);
    batch.mean_cost += cost / static_cast<double>(scores.size());
    batch.feasible += score.feasible() / static_cast<double>(scores.size());
    if (best_.Offer(placements[i], score)) better = true;
    const bool valid_only = config_.valid_only_after > 0 && update >= config_.valid_only_after;
    if (valid_only && !score.feasible()) continue;
    costs.push_back(cost);
    rows.push_back(static_cast<int>(i));
  }
  patience_.Count(better);

  std::vector<double> advantages = baseline_.Advantages(costs);
  if (config_.normalize_advantages) NormalizeAdvantages(advantages, costs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    batch.weights(rows[i], 0) =
        static_cast<float>(advantages[i] / static_cast<double>(rows.size()));
  }
  return batch;
}

void LearningSignal::Reset(const BestPlacement& known) {
  baseline_.Reset();
  best_ = known;
  patience_.Reset();
}

void LearningSignal::VisitState(StateVisitor& v) {
  baseline_.VisitState(v);
  patience_.VisitState(v);
  best_.VisitState(v, *problem_);
}

}  // namespace emplace
