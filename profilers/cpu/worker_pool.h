#pragma once

// Pinned threads that wait for jobs. They spin for about the time between two steps and then sleep.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "profilers/executor/spin_wait.h"

namespace emplace {

/// One thread per group of cores, each with its OpenMP threads.
class WorkerPool {
 public:
  /// @param cores  [workers] the cores to which the worker and its OpenMP threads are pinned
  /// @throws RunError if a thread cannot be pinned
  explicit WorkerPool(std::vector<std::vector<int>> cores);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  /// Starts job(worker) on all workers. The caller must call Wait() and keep the job alive until it
  /// returns. Only one thread may use the pool at a time.
  void Start(const std::function<void(int)>& job);
  /// Sleeps until the last worker has returned.
  /// @throws the first exception of a job
  void Wait();
  /// Calls Start() and Wait().
  void RunOnAll(const std::function<void(int)>& job);
  /// Runs a job on one worker and waits for it.
  void RunOn(int worker, const std::function<void()>& job);

 private:
  void Loop(int worker, const std::vector<int>& cores);
  void Stop();

  std::vector<std::thread> threads_;
  const std::function<void(int)>* job_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  alignas(64) std::atomic<int> running_{0};
  bool stop_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace emplace
