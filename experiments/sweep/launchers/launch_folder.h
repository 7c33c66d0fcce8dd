#pragma once

// The folder `launch` of a sweep: the files for a batch system and the output of its workers.
//
//   launch/3.slurm.sh   the job script of the third submission
//   launch/3.0.log      the output of the worker of its first bundle

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"

namespace emplace {

/// Returns the command that starts this program again, for a shell: its own file, or the
/// interpreter with `-m emplace` if it runs within Python.
std::vector<std::string> ProgramCommand();

/// Returns `emplace sweep-worker FOLDER --beside ... --cores ... --checkpoint-seconds ...`, without
/// --runs.
std::vector<std::string> WorkerCommand(const LaunchOrder& order);

/// Returns the variables $EMPLACE_... of the program as NAME=VALUE.
std::vector<std::string> WorkerEnvironment();

class LaunchFolder {
 public:
  /// Makes the folder. @throws RunError if it cannot be made
  explicit LaunchFolder(const SweepFolder& sweep);

  /// Returns a number that no submission has had, including those of earlier starts of the sweep.
  int NextSubmission();
  /// @param kind  "slurm.sh"
  std::filesystem::path file(int submission, const std::string& kind) const;
  /// Returns the submission with this file() of this kind; none for another path.
  std::optional<int> SubmissionOf(const std::filesystem::path& file, const std::string& kind) const;
  std::filesystem::path log(int submission, int bundle) const;
  /// Returns the end of a worker's output in one line; empty if there is none.
  std::string LogTail(int submission, int bundle) const;

 private:
  std::filesystem::path path_;
  int last_ = 0;
};

}  // namespace emplace
