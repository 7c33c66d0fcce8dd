#pragma once

// A launcher starts the workers of a sweep, on this machine or through an engine that manages
// several machines. All launchers share only the sweep's folder with their workers. A worker
// (`emplace sweep-worker`) reads sweep.yaml, claims one run after another on the board and writes
// their files. The state of a run is read from the board and its file (run_all.h). A launcher
// therefore transfers no results, and may lose workers or start them twice.
//
// A new launcher needs a class here, a line in launcher.cc and a section in launchers/README.md.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/sweep/launcher_config.h"
#include "experiments/sweep/run_board.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

/// Runs that were given to a worker that has ended.
struct EndedRuns {
  std::vector<int> runs;  ///< some of them may not be done
  std::string why;        ///< reason of the end, from the worker or the engine; may be empty
};

class Launcher {
 public:
  /// Ends the workers that it can still reach.
  virtual ~Launcher() = default;
  /// Describes the workers for the user: "a local cluster of HyperQueue, 2 workers".
  virtual std::string description() const = 0;
  /// Gives runs to workers. May be called again with runs whose workers have ended.
  /// @throws RunError if the engine does not accept them
  virtual void Submit(const std::vector<int>& runs) = 0;
  /// Waits for a short time (0.2 s at most) and returns the workers that have ended meanwhile. Each
  /// run of Submit() is returned once.
  /// @throws RunError if the engine has ended
  virtual std::vector<EndedRuns> Watch() = 0;
  /// Withdraws the runs that have not begun. The caller first requests the stop on the board.
  virtual void Cancel() = 0;
};

/// The arguments of a launcher.
struct LaunchOrder {
  const Sweep& sweep;
  RunBoard& board;
  LauncherConfig config;
  int jobs = 1;                  ///< workers, or concurrent runs
  std::filesystem::path beside;  ///< folder of the sweep's config, for relative paths in it
  double checkpoint_seconds = 30;
};

/// @param order  must outlive the launcher, as must the objects that it refers to
/// @throws InputError as RequireLauncher(), and for settings that the launcher refuses
/// @throws RunError if the engine is not available
std::unique_ptr<Launcher> MakeLauncher(const LaunchOrder& order);

/// @throws InputError for an unknown name, with the choices
void RequireLauncher(const std::string& name);

/// Returns the names, sorted.
std::vector<std::string> LauncherNames();

}  // namespace emplace
