#pragma once

// What a sweep says of its runs.

#include <string>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace emplace {

/// "41.3 ms (12000 evaluations, 3.1 s)", "failed: ...", "stopped".
std::string ShortState(const RunState& state);

int CountRuns(const std::vector<RunState>& states, RunProgress progress);

/// Runs that did not end well: those that failed, and those killed after a checkpoint.
std::vector<int> FailedRuns(const std::vector<RunState>& states);

/// The best feasible run of each problem.
class BestRuns {
 public:
  /// @param states  [runs]
  BestRuns(const Sweep& sweep, const std::vector<RunState>& states);
  /// Takes a run in whose state has changed.
  void Update(int run);
  /// The best of a problem: "41.3 ms by heft (#3), nmt on 2xk80"; empty without one.
  std::string Text(int problem) const;

 private:
  const Sweep& sweep_;
  const std::vector<RunState>& states_;
  std::vector<int> best_;  // [problems], -1: none
};

/// The best of each problem, failures, where the results are; ends with a new line.
std::string SweepSummary(const Sweep& sweep, const std::vector<RunState>& states);

}  // namespace emplace
