#include "profilers/cpu/kernels/simd.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace emplace::cpu {
namespace {

// Describes the order of memory accesses to ThreadSanitizer. OpenMP's runtime is not instrumented,
// so this class declares that writes before a loop are visible in the loop, and that writes in the
// loop are visible after it. The compiler passes arguments to the threads of the loop outside of
// this order, so the function that contains the loop is not instrumented. The functions that it
// calls are.
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
