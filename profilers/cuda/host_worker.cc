#include "profilers/cuda/host_worker.h"

#include <utility>

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"

namespace emplace::cuda {

namespace {

using SteadyClock = std::chrono::steady_clock;

void Pause() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

/// Spins until `condition`, or `abort` is set; lets other threads run once in a while, so that a
/// machine with fewer cores than threads gets on. @return condition
template <typename Condition>
bool SpinUntil(const Condition& condition, const std::atomic<bool>* abort) {
  for (int spins = 1; !condition(); ++spins) {
    Pause();
    if (spins % 1024 == 0) {
      if (abort != nullptr && abort->load(std::memory_order_relaxed)) return condition();
      std::this_thread::yield();
    }
  }
  return true;
}

Nanos Since(SteadyClock::time_point origin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - origin).count();
}

void PinTo(const std::string& name, const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    throw RunError(fmt::format("{}: cannot run on cores {}", name, fmt::join(cores, ", ")));
  }
}

/// Denormal numbers count as zero, as they do on GPUs' fast paths and in frameworks.
void FlushDenormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

}  // namespace

bool IsFinished(const Counter& counter) {
  // A GPU may be the writer, so the value cannot be a std::atomic object of the program's own.
  return __atomic_load_n(&counter.value, __ATOMIC_ACQUIRE) >= kFinished;
}

void SetFinished(Counter& counter) {
  __atomic_store_n(&counter.value, kFinished, __ATOMIC_RELEASE);
}

HostWorker::HostWorker(std::string name, std::vector<int> cores)
    : name_(std::move(name)), cores_(std::move(cores)), thread_([this] { Loop(); }) {
  try {
    Call([this] {
      PinTo(name_, cores_);
      omp_set_num_threads(num_threads());
      FlushDenormals();
    });
  } catch (...) {
    quit_ = true;
    Post([] {});
    thread_.join();
    throw;
  }
}

HostWorker::~HostWorker() {
  Join();
  quit_ = true;
  Post([] {});
  thread_.join();
}

void HostWorker::Loop() {
  std::uint64_t seen = 0;
  for (;;) {
    // A short spin, because steps follow each other closely; then the core is free for others.
    const auto until = SteadyClock::now() + std::chrono::microseconds(200);
    while (posted_.load(std::memory_order_acquire) == seen && SteadyClock::now() < until) Pause();
    posted_.wait(seen, std::memory_order_acquire);
    seen = posted_.load(std::memory_order_acquire);
    task_();
    const bool quit = quit_;
    is_busy_.store(false, std::memory_order_release);
    is_busy_.notify_all();
    if (quit) return;
  }
}

void HostWorker::Post(std::function<void()> function) {
  EMPLACE_CHECK(IsDone(), name_ + " is busy");
  task_ = std::move(function);
  is_busy_.store(true, std::memory_order_relaxed);
  posted_.fetch_add(1, std::memory_order_release);
  posted_.notify_one();
}

void HostWorker::Join() const {
  is_busy_.wait(true, std::memory_order_acquire);
}

void HostWorker::Call(const std::function<void()>& function) {
  std::exception_ptr error;
  Post([&] {
    try {
      function();
    } catch (...) {
      error = std::current_exception();
    }
  });
  Join();
  if (error) std::rethrow_exception(error);
}

void HostWorker::Arm(HostJob& job, const Counter& gate, const std::atomic<bool>& abort) {
  is_ready_.store(false, std::memory_order_relaxed);
  Post([this, &job, &gate, &abort] { RunJob(job, gate, abort); });
  SpinUntil([this] { return is_ready_.load(std::memory_order_acquire); }, nullptr);
}

void HostWorker::RunJob(HostJob& job, const Counter& gate, const std::atomic<bool>& abort) {
  job.error = nullptr;
  job.failed = -1;
  job.start.assign(job.traced ? job.commands.size() : 0, 0);
  job.finish = job.start;
  is_ready_.store(true, std::memory_order_release);
  SpinUntil([&] { return IsFinished(gate); }, &abort);
  for (size_t i = 0; i < job.commands.size(); ++i) {
    const HostCommand& command = job.commands[i];
    bool reached = true;
    for (const Counter* counter : command.waits) {
      reached = SpinUntil([counter] { return IsFinished(*counter); }, &abort) && reached;
    }
    if (job.traced) job.start[i] = Since(job.origin);
    if (reached && command.run && !job.error) {
      try {
        command.run();
      } catch (...) {
        job.error = std::current_exception();
        job.failed = static_cast<int>(i);
      }
    }
    if (job.traced) job.finish[i] = Since(job.origin);
    // Also behind a failed command: others must not wait for ever.
    if (command.finished != nullptr) SetFinished(*command.finished);
  }
}

}  // namespace emplace::cuda
