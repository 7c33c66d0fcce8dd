#include "profilers/cpu/worker_pool.h"

#include <utility>

#include <omp.h>

#include "profilers/cpu/cpu_system.h"

namespace emplace {
namespace {

constexpr int kTurnsBeforeSleep = 20000;  // about 100 us, the time between two steps

}  // namespace

WorkerPool::WorkerPool(std::vector<std::vector<int>> cores) {
  running_ = static_cast<int>(cores.size());
  for (int worker = 0; worker < static_cast<int>(cores.size()); ++worker) {
    threads_.emplace_back([this, worker, mine = std::move(cores[worker])] { Loop(worker, mine); });
  }
  for (int left = running_.load(); left > 0; left = running_.load()) running_.wait(left);
  if (error_) {
    Stop();
    std::rethrow_exception(error_);
  }
}

WorkerPool::~WorkerPool() {
  Stop();
}

void WorkerPool::Stop() {
  stop_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::Start(const std::function<void(int)>& job) {
  job_ = &job;
  error_ = nullptr;
  running_ = size();
  epoch_.fetch_add(1);
  epoch_.notify_all();
}

void WorkerPool::Wait() {
  for (int left = running_.load(); left > 0; left = running_.load()) running_.wait(left);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void WorkerPool::RunOnAll(const std::function<void(int)>& job) {
  Start(job);
  Wait();
}

void WorkerPool::RunOn(int worker, const std::function<void()>& job) {
  RunOnAll([&](int w) {
    if (w == worker) job();
  });
}

void WorkerPool::Loop(int worker, const std::vector<int>& cores) {
  const auto guarded = [this](const auto& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
    if (running_.fetch_sub(1) == 1) running_.notify_all();
  };
  std::uint32_t seen = epoch_.load();
  guarded([&] {
    PinThisThread(cores);
    omp_set_num_threads(static_cast<int>(cores.size()));
    FlushDenormalsInThisThread();
    if (cores.size() > 1) {
#pragma omp parallel
      FlushDenormalsInThisThread();
    }
  });
  while (true) {
    SpinWait spin;
    for (int turn = 0; turn < kTurnsBeforeSleep && epoch_.load() == seen; ++turn) spin.Turn();
    while (epoch_.load() == seen) epoch_.wait(seen);
    seen = epoch_.load();
    if (stop_) return;
    guarded([&] { (*job_)(worker); });
  }
}

}  // namespace emplace
