#pragma once

// The fast implementation of the period objective (README.md, "The second objective: pipelined
// steps"). Loads and bytes are sums over groups and items, so that a neighbour of a placement is
// evaluated by the items of the groups that move. period.h has the plain implementation.
//
// Internal to the simulator: others ask MakeSimulator() (simulator.h), which checks placements and
// shares a batch among the threads.

#include <cstddef>
#include <vector>

#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"
#include "framework/search/evaluator.h"

namespace emplace {

/// One per thread. An evaluation of rows and neighbours allocates nothing.
///
/// A base is kept from call to call: the neighbours of one base cost O(degree of the groups that
/// move), and so does a new base that is near the old one.
class PeriodEngine {
 public:
  /// @param problem  outlives the engine
  explicit PeriodEngine(const CompiledPeriod& problem);

  /// Evaluates one placement. Every field of `outcome` is set, whatever it held before; there are
  /// no op times.
  /// @param device  [num_groups] all allowed, every route that they need present
  void Run(const DeviceIndex* device, const OutcomeDetail& detail, Outcome& outcome);
  /// Writes row `i` of the columns.
  void RunRow(const DeviceIndex* device, std::size_t i, const OutcomeColumns& columns);
  /// Writes the rows `begin` .. `end - 1` of the columns for these neighbours.
  /// @param neighbors  as in Run, all of them
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
