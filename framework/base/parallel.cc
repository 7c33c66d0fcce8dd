#include "framework/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>

namespace emplace {

void ParallelFor(int count, int threads, const std::function<void(int)>& body) {
  std::atomic<int> next = 0;
  std::mutex mutex;
  int failed_index = count;
  std::exception_ptr failure;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed_index) {
          failed_index = i;
          failure = std::current_exception();
        }
      }
    }
  };

  const int wanted = std::min(threads > 0 ? threads : NumCores(), count);
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < wanted; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The system grants no more threads: those that run, at least this one, do all the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

int NumCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace emplace
