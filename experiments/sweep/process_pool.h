#pragma once

// Tasks that run in processes of their own, so that the crash of one ends no other.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace emplace {

/// How a worker ended.
struct WorkerEnd {
  int task = 0;
  bool ok = false;
  /// If not ok: what it threw, or "killed by signal 6 (Aborted)" with the end of what it wrote to
  /// stderr.
  std::string error;
};

/// What the supervising process does meanwhile.
struct PoolCallbacks {
  /// Called once for each task that began, when its process has ended.
  std::function<void(const WorkerEnd&)> ended;
  /// Called several times a second. @param running  tasks under way
  std::function<void(const std::vector<int>& running)> tick;
};

/// Runs body(task) for each task in a forked process, in order, up to `jobs` at a time; fewer where
/// the system gives no more processes or open files. A worker sees the memory of this process as it
/// was at the fork; what it changes is its own. This process must have no other threads, save those
/// that ParallelFor keeps and that are idle.
///
/// Workers die with this process, even if it is killed. Ctrl-C and the end of the terminal do not
/// reach them: once a stop is requested (StopRequest), no further worker begins and those there are
/// sent SIGTERM, after which they may save what they have; halted ones (SIGSTOP) are continued for
/// it. If a callback throws, the workers are killed.
/// @param tasks  numbers of the caller's choice
/// @throws RunError if not even one process can be had
void RunInProcesses(const std::vector<int>& tasks,
                    int jobs,
                    const std::function<void(int)>& body,
                    const PoolCallbacks& callbacks);

}  // namespace emplace
