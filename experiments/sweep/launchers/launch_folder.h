#pragma once

// What a batch system is given, and what its workers write: the folder `launch` of a sweep.
//
//   launch/3.slurm.sh   the job script of the third submission
//   launch/3.0.log      what the worker of its first bundle wrote

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"

namespace emplace {

/// The command by which this program is started again, as a shell knows it: its own file, or the
/// interpreter with `-m emplace` where it runs within Python.
std::vector<std::string> ProgramCommand();

/// `emplace sweep-worker FOLDER --beside ... --cores ... --checkpoint-seconds ...`; --runs is
/// missing.
std::vector<std::string> WorkerCommand(const LaunchOrder& order);

/// The variables that the program reads, $EMPLACE_..., as NAME=VALUE.
std::vector<std::string> WorkerEnvironment();

class LaunchFolder {
 public:
  /// Makes the folder. @throws RunError if it cannot be made
  explicit LaunchFolder(const SweepFolder& sweep);

  /// A number that no submission has had, also not of an earlier start of the sweep.
  int NextSubmission();
  /// @param kind  "slurm.sh"
  std::filesystem::path file(int submission, const std::string& kind) const;
  /// The submission whose file() of this kind it is; nothing for another path.
  std::optional<int> SubmissionOf(const std::filesystem::path& file, const std::string& kind) const;
  std::filesystem::path log(int submission, int bundle) const;
  /// The end of what a worker wrote, in one line; empty without.
  std::string LogTail(int submission, int bundle) const;

 private:
  std::filesystem::path path_;
  int last_ = 0;
};

}  // namespace emplace
