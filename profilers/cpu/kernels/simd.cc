#include "profilers/cpu/kernels/simd.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace emplace::cpu {
namespace {

// OpenMP's runtime is compiled without ThreadSanitizer, which so has to be told that what was
// written before a loop is there within, and what the loop wrote after it. What the compiler hands
// to the loop's threads lies outside of that order: the function with the loop is not looked at,
// what it calls is.
class LoopOrder {
 public:
  void Fork() { Release(&begin_); }
  void Begin() { Acquire(&begin_); }
  void End() { Release(&end_); }
  void Join() { Acquire(&end_); }

 private:
#ifdef __SANITIZE_THREAD__
  static void Release(char* at) {
    __tsan_release(at);
  }
  static void Acquire(char* at) {
    __tsan_acquire(at);
  }
#else
  static void Release(char*) {
  }
  static void Acquire(char*) {
  }
#endif

  char begin_ = 0, end_ = 0;
};

}  // namespace

[[gnu::no_sanitize("thread")]] void RunOnThreads(int threads,
                                                 void (*call)(const void* f, int i),
                                                 const void* f) {
  LoopOrder order;
  order.Fork();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) {
    order.Begin();
    call(f, i);
    order.End();
  }
  order.Join();
}

}  // namespace emplace::cpu
