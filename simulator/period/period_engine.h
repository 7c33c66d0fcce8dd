#pragma once

// The fast implementation of the period objective (README.md, "The second objective: pipelined
// steps"). Loads and bytes are sums over groups and items, so the evaluation of a neighbour visits
// only the items of the groups that move. period.h declares the plain implementation.
//
// Internal to the simulator: other code calls MakeSimulator() (simulator.h), which checks
// placements and divides a batch among the threads.

#include <cstddef>
#include <vector>

#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "framework/search/evaluator.h"

namespace emplace {

/// One engine per thread. An evaluation of rows or neighbours allocates no memory.
///
/// The engine keeps a base from call to call. A neighbour of the same base, or a new base near the
/// old one, costs O(degree of the groups that move).
class PeriodEngine {
 public:
  /// @param problem  outlives the engine
  explicit PeriodEngine(const CompiledPeriod& problem);

  /// Evaluates one placement and sets every field of `outcome`; there are no op times.
  /// @param device  [num_groups] all allowed, with every route that they need
  void Run(const DeviceIndex* device, const OutcomeDetail& detail, Outcome& outcome);
  /// Writes row `i` of the columns.
  void RunRow(const DeviceIndex* device, std::size_t i, const OutcomeColumns& columns);
  /// Writes the rows `begin` .. `end - 1` of the columns for these neighbours.
  /// @param neighbors  all of them valid as in Run()
  void RunNeighbors(const Neighbors& neighbors,
                    std::size_t begin,
                    std::size_t end,
                    const OutcomeColumns& columns);

 private:
  void Write(const PeriodTotals& totals, std::size_t i, const OutcomeColumns& columns) const;

  const CompiledPeriod& p_;
  PeriodState base_;
  PeriodTotals totals_;                    // of one evaluation
  std::vector<DeviceIndex> moved_device_;  // [num_groups]
};

}  // namespace emplace
