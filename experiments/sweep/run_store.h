#pragma once

// The results files of the commands that add to them: certify, stress and verify.

#include <filesystem>
#include <functional>
#include <list>
#include <vector>

#include "experiments/run/run_reader.h"
#include "experiments/sweep/sweep_folder.h"
#include "experiments/table/table_runs.h"
#include "framework/base/file_lock.h"

namespace emplace {

/// The runs in results files and sweeps. No other program writes to them while this object lives,
/// because each would overwrite the additions of the other.
///
/// A results file has its own lock (file_lock.h), except for the runs of a sweep. Workers take no
/// lock on those files: the lock of the folder protects them all.
class RunStore {
 public:
  /// @param paths  results files and folders of sweeps; may be named more than once
  /// @throws InputError as ReadResultRuns() does; if one is being written, naming the writer; if
  ///   workers of a killed sweep still write; or as FileLock and FolderLock do
  /// @throws RunError as FileLock and FolderLock do
  explicit RunStore(const std::vector<std::filesystem::path>& paths);

  /// Returns the runs by their problem (RunsByProblem()). They point into this object.
  std::vector<ProblemRuns> Problems() const { return RunsByProblem(results_); }

  /// Reads the run of the first file with a placement.
  /// @throws InputError as ReadRun() does, or if no run of the problem has a placement
  EarlierRun Read(const ProblemRuns& problem, const RunFiles& files = {}) const;

  /// Reads the placements of all files, file by file as ReadCandidates() does; equal ones are
  /// merged. @param run  Read() @throws InputError as both do
  std::vector<Candidate> ReadFound(const ProblemRuns& problem, const EarlierRun& run) const;

  /// Opens each file of the problem, lets `write` extend it, and commits it.
  void Extend(const ProblemRuns& problem, const std::function<void(ResultsFile&)>& write) const;

 private:
  ResultRuns results_;
  std::list<FolderLock> folders_;
  std::list<FileLock> files_;
};

}  // namespace emplace
