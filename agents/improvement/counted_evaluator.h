#pragma once

#include <cstdint>

#include "framework/search/evaluator.h"

namespace emplace {

/// Passes evaluations on and counts them, for searches that divide them by their number.
class CountedEvaluator final : public Evaluator {
 public:
  /// @param inner  outlives this
  explicit CountedEvaluator(Evaluator& inner) : inner_(inner) {}
  const Problem& problem() const override { return inner_.problem(); }
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override {
    inner_.Evaluate(placements, outcomes, detail);
    count_ += static_cast<std::int64_t>(placements.size());
  }
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    inner_.EvaluateRows(placements, outcomes);
    count_ += static_cast<std::int64_t>(placements.num_placements);
  }
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    inner_.EvaluateNeighbors(neighbors, outcomes);
    count_ += static_cast<std::int64_t>(neighbors.size());
  }
  std::int64_t remaining() const override { return inner_.remaining(); }
  EvaluatorRanks ranks() const override { return inner_.ranks(); }
  /// Placements evaluated so far.
  std::int64_t count() const { return count_; }

 private:
  Evaluator& inner_;
  std::int64_t count_ = 0;
};

}  // namespace emplace
