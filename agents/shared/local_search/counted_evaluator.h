#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "framework/base/raw_stream.h"
#include "framework/search/forwarding_evaluator.h"

namespace emplace {

/// Forwards evaluations to another evaluator and counts them, for searches that share out
/// evaluations by number.
class CountedEvaluator final : public ForwardingEvaluator {
 public:
  using ForwardingEvaluator::ForwardingEvaluator;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override {
    inner().Evaluate(placements, outcomes, detail);
    count_ += static_cast<std::int64_t>(placements.size());
  }
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override {
    inner().EvaluateRows(placements, outcomes);
    count_ += static_cast<std::int64_t>(placements.num_placements);
  }
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override {
    inner().EvaluateNeighbors(neighbors, outcomes);
    count_ += static_cast<std::int64_t>(neighbors.size());
  }
  /// Counts the evaluations of all searches, including those run in other processes.
  void RunConcurrently(std::span<const ConcurrentSearch> searches) override {
    std::vector<std::int64_t> counts(searches.size());
    std::vector<ConcurrentSearch> counted(searches.size());
    for (std::size_t i = 0; i < searches.size(); ++i) {
      counted[i].run = [&search = searches[i], &count = counts[i]](Evaluator& evaluator) {
        CountedEvaluator own(evaluator);
        search.run(own);
        count = own.count();
      };
      if (!searches[i].save) continue;
      counted[i].save = [&search = searches[i], &count = counts[i]](std::ostream& out) {
        WriteRaw(out, count);
        search.save(out);
      };
      counted[i].load = [&search = searches[i], &count = counts[i]](std::istream& in) {
        count = ReadRaw<std::int64_t>(in);
        search.load(in);
      };
    }
    inner().RunConcurrently(counted);
    count_ += std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }
  /// Returns the number of placements evaluated so far.
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_ = 0;
};

}  // namespace emplace
