#pragma once

// The base of evaluators around another evaluator.

#include <cstdint>
#include <span>

#include "framework/search/evaluator.h"

namespace emplace {

/// Passes every call on to another evaluator; a derived class overrides the calls that it changes.
/// RunConcurrently() stays abstract, because its searches evaluate with other evaluators than this
/// one.
class ForwardingEvaluator : public Evaluator {
 public:
  /// @param inner  outlives this
  explicit ForwardingEvaluator(Evaluator& inner) : inner_(inner) {}
  const Problem& problem() const override { return inner_.problem(); }
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override {
    inner_.Evaluate(placements, outcomes, detail);
  }
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    inner_.EvaluateRows(placements, outcomes);
  }
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    inner_.EvaluateNeighbors(neighbors, outcomes);
  }
  bool SetIssueOrder(std::span<const int> order) override { return inner_.SetIssueOrder(order); }
  void RunConcurrently(std::span<const ConcurrentSearch> searches) override = 0;
  EvaluatorRanks ranks() const override { return inner_.ranks(); }
  std::int64_t remaining() const override { return inner_.remaining(); }

 protected:
  Evaluator& inner() const { return inner_; }

 private:
  Evaluator& inner_;
};

}  // namespace emplace
