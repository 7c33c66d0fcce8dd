#pragma once

// Problems and comparisons for the tests of lanes.

#include <memory>
#include <string>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace emplace::testing {

/// Lanes to ask for, of which the simulator takes what the processor has.
inline constexpr int kLaneWidths[] = {16, 8};

/// A random problem of one of several sorts in turn: plain machines and all features, ops alone and
/// in groups.
/// @param round  decides the sort
std::shared_ptr<const Problem> RandomLaneProblem(Rng& rng, int round);

/// Outcomes of placements by the plain implementation.
std::vector<Outcome> ReferenceOutcomes(const Problem& problem,
                                       const std::vector<Placement>& placements,
                                       const SimulatorOptions& options);

/// The first difference in time, busy times, peaks and deficits; empty: none.
std::string LaneDifference(const Outcome& outcome, const Outcome& expected);

/// Columns with room for n outcomes.
struct ColumnStorage {
  ColumnStorage(std::size_t n, int num_devices);
  OutcomeColumns columns();
  /// Row i as an outcome. @param problem  for the limits of memory
  Outcome row(std::size_t i, const Problem& problem) const;

  std::vector<Nanos> step_time, busy;
  std::vector<std::int64_t> deficit, peak;
};

}  // namespace emplace::testing
