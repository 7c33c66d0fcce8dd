#pragma once

// The results files of the commands that add to them: certify, stress and verify.

#include <filesystem>
#include <functional>
#include <vector>

#include "experiments/run/run_reader.h"
#include "experiments/sweep/results_lock.h"
#include "experiments/table/table_runs.h"

namespace emplace {

/// The runs in results files and sweeps, which no other program writes meanwhile.
class RunStore {
 public:
  /// @param paths  folders of sweeps and results files; locked as long as this object lives
  /// @throws InputError as ReadResultRuns() and ResultsLock do
  explicit RunStore(const std::vector<std::filesystem::path>& paths);

  /// Returns the runs by their problem (RunsByProblem()). They point into this object.
  std::vector<ProblemRuns> Problems() const { return RunsByProblem(results_); }

  /// Reads the run of the first file with a placement. EarlierRun::found has the placements of all
  /// files: those of the first file, then those of the others; equal ones are merged.
  /// @throws InputError as ReadRun() does, or if no run of the problem has a placement
  EarlierRun Read(const ProblemRuns& problem, const RunFiles& files = {}) const;

  /// Opens each file of the problem, lets `write` extend it, and commits it.
  void Extend(const ProblemRuns& problem, const std::function<void(ResultsFile&)>& write) const;

 private:
  ResultRuns results_;  // read before the lock, so that other files are refused, and again after it
  ResultsLock lock_;
};

}  // namespace emplace
