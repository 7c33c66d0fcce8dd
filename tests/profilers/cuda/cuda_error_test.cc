#include "profilers/cuda/cuda_error.h"

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("a CUDA error names place, call, error and what it means") {
  const cuda::CudaError error(
      "cudaMalloc(&p, n)", "executor.cu", 12, 2, "cudaErrorMemoryAllocation", "out of memory");
  CHECK(std::string(error.what()) ==
        "executor.cu:12: cudaMalloc(&p, n): cudaErrorMemoryAllocation (out of memory)");
  CHECK(error.code() == 2);
}

}  // namespace
