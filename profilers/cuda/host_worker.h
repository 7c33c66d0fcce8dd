#pragma once

// A thread for what the host does in a step beside GPUs: the commands of a CPU device on its pinned
// cores, or the copies of a channel between CPU devices. It runs its commands in order. Counters in
// host memory say which commands have finished; GPUs wait for them and set them, too. Makes no CUDA
// calls.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/time.h"

namespace emplace::cuda {

/// Whether a command has finished in this step: 0 before, kFinished after. Alone on its cache line.
struct alignas(64) Counter {
  std::uint64_t value = 0;
};
inline constexpr std::uint64_t kFinished = 1;
bool IsFinished(const Counter& counter);
void SetFinished(Counter& counter);

/// One command of a host thread.
struct HostCommand {
  int command = 0;                    ///< index in the plan
  std::vector<const Counter*> waits;  ///< of other streams
  std::function<void()> run;          ///< may be empty
  Counter* finished = nullptr;        ///< nullptr: no other stream waits for it
};

/// What one worker does in a step. Owned by the program and used again for every step.
struct HostJob {
  std::vector<HostCommand> commands;
  std::vector<Nanos> start, finish;  ///< [commands] since `origin`, if traced [ns]
  bool traced = false;
  std::chrono::steady_clock::time_point origin;
  std::exception_ptr error;  ///< of a command that failed; those after it are only marked finished
  int failed = -1;           ///< index of that command in `commands`; -1: none failed
};

/// The thread.
class HostWorker {
 public:
  /// @param cores  to run on, and as many threads for kernels; empty: any core, one thread
  /// @throws RunError if the thread cannot be pinned to them
  HostWorker(std::string name, std::vector<int> cores);
  ~HostWorker();
  HostWorker(const HostWorker&) = delete;
  HostWorker& operator=(const HostWorker&) = delete;

  const std::string& name() const { return name_; }
  int num_threads() const { return cores_.empty() ? 1 : static_cast<int>(cores_.size()); }
  /// Runs `function` on the worker's thread and waits for it. @throws what it throws
  void Call(const std::function<void()>& function);
  /// Wakes the worker for a job. When this returns, it spins on `gate` and begins as soon as the
  /// gate is finished. Once `abort` is set, commands no longer wait, and are skipped.
  void Arm(HostJob& job, const Counter& gate, const std::atomic<bool>& abort);
  /// Whether the armed job is done.
  bool IsDone() const { return !is_busy_.load(std::memory_order_acquire); }
  void Join() const;  ///< waits for IsDone()

 private:
  void Loop();
  void RunJob(HostJob& job, const Counter& gate, const std::atomic<bool>& abort);
  void Post(std::function<void()> function);

  std::string name_;
  std::vector<int> cores_;
  std::function<void()> task_;
  std::atomic<std::uint64_t> posted_{0};
  std::atomic<bool> is_busy_{false}, is_ready_{false}, quit_{false};
  std::thread thread_;
};

}  // namespace emplace::cuda
