#include "framework/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace emplace {
namespace {

// Time that a thread spins before it sleeps.
constexpr std::chrono::microseconds kSpin{50};

// Returns true as soon as `done()` is true, or false after kSpin.
template <class Done>
bool Spin(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    sched_yield();  // with more threads than cores, a thread with work runs
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// One call of ParallelFor.
class Loop {
 public:
  Loop(int count, const std::function<void(int)>& body)
      : count_(count), body_(body), failed_index_(count) {}

  void Work() {
    for (int i = next_++; i < count_; i = next_++) {
      try {
        body_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_index_) {
          failed_index_ = i;
          failure_ = std::current_exception();
        }
      }
    }
  }

  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const int count_;
  const std::function<void(int)>& body_;
  std::atomic<int> next_ = 0;
  std::mutex mutex_;
  int failed_index_;
  std::exception_ptr failure_;
};

// A thread that helps one loop after another. The caller that took it from the pool gives it a loop
// and takes the loop back.
class Helper {
 public:
  // Waits until the thread runs. A thread that begins holds locks, such as those of a sanitizer's
  // allocator, and a process forked meanwhile would hold them for ever.
  Helper() {
    std::thread(&Helper::Run, this).detach();
    state_.wait(kBegins, std::memory_order_acquire);
  }

  void Give(Loop& loop) {
    loop_ = &loop;
    if (state_.exchange(kGiven, std::memory_order_acq_rel) == kAsleep) state_.notify_one();
  }

  // Returns when the helper no longer uses the loop. A helper that has not begun never will, so a
  // slow awakening delays nobody.
  void TakeBack() {
    int seen = kGiven;
    if (state_.compare_exchange_strong(seen, kIdle, std::memory_order_acq_rel)) return;
    if (Spin([&] { return state_.load(std::memory_order_acquire) != kWorking; })) return;
    seen = kWorking;
    if (!state_.compare_exchange_strong(seen, kAwaited, std::memory_order_acq_rel)) return;
    state_.wait(kAwaited, std::memory_order_acquire);
  }

 private:
  enum State : int { kBegins, kIdle, kAsleep, kGiven, kWorking, kAwaited };

  void Run() {
    state_.store(kIdle, std::memory_order_release);
    state_.notify_one();
    while (true) {
      int seen = kGiven;
      if (state_.compare_exchange_strong(seen, kWorking, std::memory_order_acq_rel)) {
        loop_->Work();
        if (state_.exchange(kIdle, std::memory_order_acq_rel) == kAwaited) state_.notify_one();
        continue;
      }
      if (Spin([&] { return state_.load(std::memory_order_relaxed) == kGiven; })) continue;
      seen = kIdle;
      if (state_.compare_exchange_strong(seen, kAsleep, std::memory_order_acq_rel)) {
        state_.wait(kAsleep, std::memory_order_acquire);
      }
    }
  }

  // On a cache line of its own.
  alignas(64) std::atomic<int> state_ = kBegins;
  Loop* loop_ = nullptr;  // written when idle or asleep, read when working
};

class HelperPool {
 public:
  // Returns the pool of this process. It is never destroyed, so helpers may outlive main().
  static HelperPool& Get() {
    static std::atomic<HelperPool*> pool = nullptr;
    static std::once_flag once;
    std::call_once(once, [] {
      pool = new HelperPool;
      // A forked process has this object but not its threads.
      pthread_atfork(nullptr, nullptr, [] { pool = new HelperPool; });
    });
    return *pool;
  }

  // Returns at most `count` helpers, the ones that worked last first.
  std::vector<Helper*> Take(int count) {
    std::vector<Helper*> taken;
    taken.reserve(count);
    const std::lock_guard lock(mutex_);
    while (static_cast<int>(taken.size()) < count) {
      if (idle_.empty()) {
        try {
          all_.push_back(std::make_unique<Helper>());
        } catch (const std::system_error&) {
          break;  // The system grants no more threads: the present ones do all the work.
        }
        idle_.reserve(all_.size());
        idle_.push_back(all_.back().get());
      }
      taken.push_back(idle_.back());
      idle_.pop_back();
    }
    return taken;
  }

  void Return(const std::vector<Helper*>& helpers) {
    const std::lock_guard lock(mutex_);
    idle_.insert(idle_.end(), helpers.rbegin(), helpers.rend());
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Helper>> all_;
  std::vector<Helper*> idle_;
};

}  // namespace

void ParallelFor(int count, int threads, const std::function<void(int)>& body) {
  Loop loop(count, body);
  const int wanted = std::min(threads > 0 ? threads : NumCores(), count);
  if (wanted <= 1) {
    loop.Work();
  } else {
    HelperPool& pool = HelperPool::Get();
    const std::vector<Helper*> helpers = pool.Take(wanted - 1);
    for (Helper* helper : helpers) helper->Give(loop);
    loop.Work();
    for (Helper* helper : helpers) helper->TakeBack();
    pool.Return(helpers);
  }
  loop.Rethrow();
}

int NumCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace emplace
