#pragma once

// Work in processes of its own, so that the crash of one piece ends no other.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace emplace {

/// How a worker ended.
struct WorkerEnd {
  int task = 0;
  bool ok = false;
  /// Otherwise: what it threw, or "killed by signal 6 (Aborted)" and the last of what it wrote to
  /// stderr.
  std::string error;
};

/// What a supervisor does meanwhile.
struct PoolCallbacks {
  std::function<void(const WorkerEnd&)> ended;
  /// Several times a second. @param running  tasks under way
  std::function<void(const std::vector<int>& running)> tick;
};

/// Runs body(task) for each task in a forked process, up to `jobs` at a time (fewer where the
/// system gives no more processes or open files), begun in order. What is in memory is there for
/// the workers, too; what they change is theirs alone. The calling process must have no other
/// threads. Workers die with this process, even if it is killed. Once StopRequest::requested(), no
/// further one begins and those there are asked to stop (SIGTERM), be they halted (SIGSTOP); ctrl-C
/// and the end of the terminal do not reach them by themselves. Should a callback throw, they are
/// killed.
/// @throws RunError if not even one process can be had
void RunInProcesses(const std::vector<int>& tasks,
                    int jobs,
                    const std::function<void(int)>& body,
                    const PoolCallbacks& callbacks);

}  // namespace emplace
