#include "profilers/cpu/kernels/simd.h"

namespace emplace::cpu {

void RunOnThreads(int threads, void (*call)(const void* f, int i), const void* f) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) call(f, i);
}

}  // namespace emplace::cpu
