#pragma once

// The folder of a sweep (framework/results/FORMAT.md lists all keys):
//
//   lock          held while a sweep runs in it or a program extends its results (run_store.h);
//                 names the process and host that hold it, or that were killed while they held it
//   sweep.yaml    the expanded sweep, frozen before the first run: format "emplace-sweep", version,
//                 name, problems, configs (whole run configs), agents (all their settings), runs
//                 (by number: file, config, agent, seed)
//   table.yaml    layout for `emplace table`, if the sweep has a key `table`; written at each start
//   board         the processes that execute the runs, run_board.h
//   launch/       files for a batch system and the output of its workers, launcher.h
//   runs/0003.h5  results of one run as `emplace run` writes them, with the attributes sweep and
//                 run ("#3 graph=nmt ...") of /config; the last checkpoint during the run;
//                 --resume renames a damaged file to runs/0003.h5.damaged
//
// Only a run's own file decides whether the run is done. The other files only help to find this
// out, so a process killed at any moment leaves no contradiction.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/sweep/sweep_problems.h"
#include "framework/base/lock_file.h"

namespace emplace {

inline constexpr int kSweepVersion = 2;
/// A line of every sweep.yaml, independent of the version.
inline constexpr std::string_view kSweepFormat = "\nformat: emplace-sweep\n";
/// Begins the last part of sweep.yaml, with a line per run; the earlier parts determine it.
inline constexpr std::string_view kSweepRuns = "\nruns:\n";

/// The paths of the files above. Opens no file.
class SweepFolder {
 public:
  SweepFolder(std::filesystem::path path, int num_runs);
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path frozen() const { return path_ / "sweep.yaml"; }
  std::filesystem::path table() const { return path_ / "table.yaml"; }
  std::filesystem::path lock() const { return path_ / "lock"; }
  std::filesystem::path board() const { return path_ / "board"; }
  std::filesystem::path launch() const { return path_ / "launch"; }
  int num_runs() const { return num_runs_; }
  std::filesystem::path run(int index) const { return path_ / RunName(index); }
  /// Returns "runs/0003.h5", with the same number of digits for every run of the sweep.
  std::string RunName(int index) const;

 private:
  std::filesystem::path path_;
  int num_runs_, digits_;
};

/// Keeps other writers out of a folder as long as this object, or a process forked during its life,
/// lives.
class FolderLock {
 public:
  /// Makes the folder and its parents. Waits until the workers of a killed sweep have ended. Warns
  /// on stderr if the last sweep was killed on another machine.
  /// @throws InputError if another process holds the lock, naming process and host; or if the
  ///   folder contains files that do not belong to a sweep; these are not changed
  /// @throws RunError if the folder cannot be made or written
  explicit FolderLock(const SweepFolder& folder);
  ~FolderLock();
  /// Returns "process 7 on host": this process, as named in the file `lock`.
  const std::string& owner() const { return owner_; }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::optional<LockFile> lock_;
  std::string owner_;
};

/// Returns the text of sweep.yaml: the expanded sweep.
std::string FreezeSweep(const SweepPlan& plan,
                        const SweepProblems& problems,
                        const SweepFolder& folder);

/// Returns whether the folder contains the sweep of this text.
bool IsFrozenAs(const SweepFolder& folder, const std::string& frozen);

/// Begins or resumes the sweep in the folder, and removes temporary files of killed processes, but
/// not those of workers that still live elsewhere. Call it while a FolderLock is held.
/// @param frozen  the text of sweep.yaml
/// @param resume  the folder may contain this sweep already
/// @return whether the folder contained it
/// @throws InputError for a folder with a sweep (without `resume`), with another sweep (naming the
///   first key that differs, with both values), or with a sweep of a newer version
bool OpenSweepFolder(const SweepFolder& folder, const std::string& frozen, bool resume);

}  // namespace emplace
