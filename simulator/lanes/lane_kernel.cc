#include "simulator/lanes/lane_kernel.h"

namespace emplace {

const LaneKernel* FindLaneKernel(int most_lanes) {
  if (most_lanes >= 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return &kAvx512Kernel;
  }
  if (most_lanes >= 8 && __builtin_cpu_supports("avx2")) return &kAvx2Kernel;
  return nullptr;
}

}  // namespace emplace
