#pragma once

// What every evaluator of the simulator must do, and problems for it.

#include <functional>
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

/// The same problem with groups of random ops. @param single  on which every op may run anywhere
std::shared_ptr<const Problem> InGroups(Rng& rng, const Problem& single);

/// Outcomes of placements by the plain implementations of semantics and period, with channels.
std::vector<Outcome> ReferenceOutcomes(const Problem& problem,
                                       const std::vector<Placement>& placements,
                                       const SimulatorOptions& options);

/// The first difference in time, busy times, peaks, deficits, and in channels and times of ops
/// where `outcome` has them; empty: none.
std::string Difference(const Outcome& outcome, const Outcome& expected);

/// Columns with room for n outcomes.
struct ColumnStorage {
  ColumnStorage(std::size_t n, int num_devices);
  OutcomeColumns columns();
  /// Row i as an outcome. @param problem  for the limits of memory
  Outcome row(std::size_t i, const Problem& problem) const;

  std::vector<Nanos> step_time, busy;
  std::vector<std::int64_t> deficit, peak;
};

/// Compares an evaluator with the plain implementation, to the nanosecond and the byte: batches,
/// single placements with channels and times of ops, rows, and the neighbours of one base after
/// another, in all columns and in some.
/// @param options  those of the evaluator   @param most  placements at a time
/// @return outcomes compared, and how many of them do not fit into memory
struct Compared {
  int outcomes = 0, unfit = 0;
};
Compared CheckEvaluator(Evaluator& evaluator, const SimulatorOptions& options, Rng& rng, int most);

/// Checks the messages about placements and moves that do not fit the problem.
/// @param make  makes the evaluator of a problem
void CheckRefusals(
    const std::function<std::unique_ptr<Evaluator>(std::shared_ptr<const Problem>)>& make,
    Objective objective = Objective::kStepTime);

}  // namespace emplace::testing
