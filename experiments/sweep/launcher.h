#pragma once

// Where the runs of a sweep are carried out: here, or by an engine that knows more machines. All
// launchers share the sweep's folder with their workers, and nothing else: a worker (`emplace
// sweep-worker`) reads sweep.yaml, claims run after run on the board and writes their files. What
// becomes of a run is read from the board and its file (run_all.h), so that a launcher need not
// carry results, may lose workers, or start them twice.
//
// A new launcher: a class here, a line in launcher.cc, a section in launchers/README.md.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/sweep/launcher_config.h"
#include "experiments/sweep/run_board.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

/// Runs that were given to one worker, which has ended.
struct EndedRuns {
  std::vector<int> runs;  ///< not all of them need have been done
  std::string why;        ///< what the worker or the engine says of its end; may be empty
};

class Launcher {
 public:
  /// Ends the workers that it can still reach.
  virtual ~Launcher() = default;
  /// How and where, for the user: "a local cluster of HyperQueue, 2 workers".
  virtual std::string description() const = 0;
  /// Gives runs to workers. May be called again, with runs whose workers have ended.
  /// @throws RunError if the engine takes none
  virtual void Submit(const std::vector<int>& runs) = 0;
  /// Waits for a short time (0.2 s at most) and tells which workers have ended meanwhile. Each run
  /// of Submit() is told once.
  /// @throws RunError if the engine has ended
  virtual std::vector<EndedRuns> Watch() = 0;
  /// Takes back what has not begun. Workers are asked to stop on the board, before this.
  virtual void Cancel() = 0;
};

/// What a launcher is made for.
struct LaunchOrder {
  const Sweep& sweep;
  RunBoard& board;
  LauncherConfig config;
  int jobs = 1;                  ///< workers, or runs at a time
  std::filesystem::path beside;  ///< folder of the sweep's config, for relative paths in it
  double checkpoint_seconds = 30;
};

/// @param order  must outlive the launcher, and so must what it refers to
/// @throws InputError as RequireLauncher(), and for what the launcher refuses
/// @throws RunError if the engine cannot be had
std::unique_ptr<Launcher> MakeLauncher(const LaunchOrder& order);

/// @throws InputError for an unknown name, with the choices
void RequireLauncher(const std::string& name);

/// The names, sorted.
std::vector<std::string> LauncherNames();

}  // namespace emplace
