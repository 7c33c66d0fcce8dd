#pragma once

// A thread for what the host does beside GPUs: a CPU device on its pinned cores, or a channel
// between CPU devices. It runs its commands in order. Counters in host memory say what has
// finished; GPUs wait for them and set them too. Plain C++ without CUDA calls.

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

/// Says that a command has finished in this step: 0 before, 1 after. Alone on its cache line.
struct alignas(64) Counter {
  std::uint64_t value = 0;
};
inline constexpr std::uint64_t kFinished = 1;
bool IsFinished(const Counter& counter);
void SetFinished(Counter& counter);

struct HostCommand {
  int command = 0;                    ///< index in the plan
  std::vector<const Counter*> waits;  ///< of other streams
  std::function<void()> run;          ///< may be empty
  Counter* finished = nullptr;        ///< nullptr: no other stream waits for it
};

/// A step of one worker, owned by the program; used again for every step.
struct HostJob {
  std::vector<HostCommand> commands;
  std::vector<Nanos> start, finish;  ///< [commands] since `origin`, if traced [ns]
  bool traced = false;
  std::chrono::steady_clock::time_point origin;
  std::exception_ptr error;  ///< of the command that failed; the ones after it only count
  int failed = -1;           ///< that command's index in `commands`
};

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
  /// Runs `function` on the worker's thread and waits. Exceptions come out here.
  void Call(const std::function<void()>& function);
  /// Wakes the worker; it stands ready when this returns and begins the job when `gate` is
  /// finished. Commands wait for counters until `abort` is set; then they are skipped.
  void Arm(HostJob& job, const Counter& gate, const std::atomic<bool>& abort);
  /// The armed job is done.
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
