#include "profilers/cuda/gpu_names.h"

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("device kinds are named by GPU and SMs") {
  CHECK(cuda::GpuKindName("NVIDIA H200", 132) == "h200_132sm");
  CHECK(cuda::GpuKindName("NVIDIA H200", 32) == "h200_32sm");
  CHECK(cuda::GpuKindName("Tesla K80", 13) == "k80_13sm");
  CHECK(cuda::GpuKindName("NVIDIA GeForce RTX 4090", 128) == "rtx_4090_128sm");
  CHECK(cuda::GpuKindName("NVIDIA A100-SXM4-80GB", 108) == "a100_sxm4_80gb_108sm");
  CHECK(cuda::GpuKindName("NVIDIA GB10 (iGPU)", 48) == "gb10_igpu_48sm");
  CHECK(cuda::GpuKindName("", 8) == "gpu_8sm");
}

TEST_CASE("a description tells partitions from whole GPUs") {
  CHECK(cuda::GpuDescription("NVIDIA H200", 132, 132) == "132 SMs of NVIDIA H200");
  CHECK(cuda::GpuDescription("NVIDIA H200", 32, 132) == "32 of 132 SMs of NVIDIA H200");
}

}  // namespace
