#pragma once

// Text on the runs of a sweep.

#include <string>
#include <vector>

#include "experiments/sweep/sweep.h"

namespace emplace {

/// Returns "41.3 ms (12000 evaluations, 3.1 s)", "failed: ..." or "stopped".
std::string ShortState(const ResultRun& state);

int CountRuns(const std::vector<ResultRun>& states, RunProgress progress);

/// Returns the runs that did not end well: those that failed, and those killed after a checkpoint.
std::vector<int> FailedRuns(const std::vector<ResultRun>& states);

/// The best feasible run of each problem.
class BestRuns {
 public:
  /// @param states  [runs]
  BestRuns(const Sweep& sweep, const std::vector<ResultRun>& states);
  /// Takes the changed state of a run into account.
  void Update(int run);
  /// Describes the best run of a problem: "41.3 ms by heft (#3), nmt on 2xk80"; empty without one.
  std::string Text(int problem) const;

 private:
  const Sweep& sweep_;
  const std::vector<ResultRun>& states_;
  std::vector<int> best_;  // [problems], -1: none
};

/// Lists the best run of each problem, the failures and the place of the results; ends with a
/// newline.
std::string SweepSummary(const Sweep& sweep, const std::vector<ResultRun>& states);

}  // namespace emplace
