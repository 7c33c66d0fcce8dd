#pragma once

// The folder of a sweep (framework/results/FORMAT.md has the same with all keys):
//
//   lock          held while a sweep runs in it, or what adds to its results (results_lock.h);
//                 names process and host, or one that was killed
//   sweep.yaml    what was expanded, frozen before the first run: format "emplace-sweep", version,
//                 name, problems, configs (whole run configs), agents (all their settings), runs
//                 (by number: file, config, agent, seed)
//   table.yaml    what `emplace table` shows, if the sweep has a key `table`; written at each start
//   board         who works at which run, run_board.h
//   launch/       what was given to a batch system and what its workers wrote, launcher.h
//   runs/0003.h5  results of one run as `emplace run` writes them, with the attributes sweep and
//                 run ("#3 graph=nmt ...") of /config; while it runs, its last checkpoint; a
//                 damaged one is set aside by --resume as runs/0003.h5.damaged
//
// A run is done if its file says so. The rest only helps to find that out, so that a process killed
// at any moment leaves no two things that disagree.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/sweep/sweep_problems.h"
#include "framework/base/lock_file.h"

namespace emplace {

inline constexpr int kSweepVersion = 2;
/// In sweep.yaml, whatever its version.
inline constexpr std::string_view kSweepFormat = "\nformat: emplace-sweep\n";
/// Begins the part of sweep.yaml with a line per run, its last; what precedes determines it.
inline constexpr std::string_view kSweepRuns = "\nruns:\n";

/// Paths of the files above; opens none of them.
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
  /// "runs/0003.h5", with as many digits for every run of the sweep.
  std::string RunName(int index) const;

 private:
  std::filesystem::path path_;
  int num_runs_, digits_;
};

/// Keeps others that write out of a folder, as long as this or a process lives that was forked
/// meanwhile.
class FolderLock {
 public:
  /// Makes the folder and those above it. Waits for the workers of a killed sweep to end. Warns on
  /// stderr if the last sweep was killed on another machine.
  /// @throws InputError if another has it locked, naming process and host; or if there are
  ///   things in the folder that are no sweep's, which stay as they are
  /// @throws RunError if it cannot be made or written
  explicit FolderLock(const SweepFolder& folder);
  ~FolderLock();
  /// "process 7 on host": this process, as the file `lock` names it.
  const std::string& owner() const { return owner_; }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::optional<LockFile> lock_;
  std::string owner_;
};

/// The text of sweep.yaml: the expanded sweep.
std::string FreezeSweep(const SweepPlan& plan,
                        const SweepProblems& problems,
                        const SweepFolder& folder);

/// Whether the folder holds the sweep of this text.
bool IsFrozenAs(const SweepFolder& folder, const std::string& frozen);

/// Begins the folder or goes on with it, and removes temporary files of killed processes (those of
/// workers that live on elsewhere stay). To be called while a FolderLock is held.
/// @param frozen  the text of sweep.yaml
/// @param resume  the folder may hold this sweep already
/// @return whether it did
/// @throws InputError for a folder that holds a sweep (without `resume`), another sweep (the first
///   key that differs with both values), or one of a newer version
bool OpenSweepFolder(const SweepFolder& folder, const std::string& frozen, bool resume);

}  // namespace emplace
