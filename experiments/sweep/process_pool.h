#pragma once

// Tasks that run in processes of their own, so that the crash of one ends no other.

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
  /// If not ok: what it threw, or "killed by signal 6 (Aborted)" with the end of what it wrote to
  /// stderr.
  std::string error;
};

/// Runs body(task) for tasks in forked processes. A worker sees the memory of this process as it
/// was at the fork; what it changes is its own. This process must have no other threads, save those
/// that ParallelFor keeps and that are idle.
///
/// Workers die with this process, even if it is killed. Ctrl-C and the end of the terminal do not
/// reach them; AskToStop() does.
class ProcessPool {
 public:
  /// @param body   what a worker does
  /// @param ended  called by Wait() once for each task that began, when its process has ended
  ProcessPool(std::function<void(int)> body, std::function<void(const WorkerEnd&)> ended);
  /// Kills the workers that are left.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  /// Number of workers under way.
  int size() const;
  /// Starts a worker.
  /// @return why the system refused one (it may have room when another has ended), or nothing
  [[nodiscard]] std::string Begin(int task);
  /// Sends the workers SIGTERM, after which they may save what they have; halted ones (SIGSTOP) are
  /// continued for it. Only the first call does so.
  void AskToStop();
  /// Waits until a worker ends, a signal comes or a tick has passed (0.2 s), and reports the
  /// workers that have ended.
  void Wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
