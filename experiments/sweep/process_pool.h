#pragma once

// Tasks in separate processes, so that a crash of one does not end the others.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emplace {

/// How a worker ended.
struct WorkerEnd {
  int task = 0;
  bool ok = false;
  /// If not ok: the exception, or "killed by signal 6 (Aborted)" with the end of its stderr.
  std::string error;
};

/// Runs body(task) for tasks in forked processes. A worker sees the memory of this process at the
/// time of the fork; its changes stay in the worker. This process must have no other threads,
/// except idle ones of ParallelFor.
///
/// Workers die with this process, even if it is killed. Ctrl-C and a hang-up of the terminal do not
/// reach them; AskToStop() does.
class ProcessPool {
 public:
  /// @param body   the work of a worker
  /// @param ended  called by Wait() once for each task that began, when its process has ended
  ProcessPool(std::function<void(int)> body, std::function<void(const WorkerEnd&)> ended);
  /// Kills the remaining workers.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  /// Returns the number of running workers.
  int size() const;
  /// Starts a worker.
  /// @return empty, or why the system refused; it may succeed after another worker has ended
  [[nodiscard]] std::string Begin(int task);
  /// Sends SIGTERM to the workers, so that they can save their state; stopped ones (SIGSTOP) are
  /// continued to receive it. Only the first call has an effect.
  void AskToStop();
  /// Waits until a worker ends, a signal arrives or a tick (0.2 s) has passed, and reports the
  /// workers that have ended.
  void Wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
