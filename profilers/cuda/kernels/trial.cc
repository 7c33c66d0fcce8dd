#include "profilers/cuda/kernels/trial.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "profilers/cuda/cuda_check.h"

namespace emplace::cuda {
namespace {

struct Free {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct DestroyStream {
  void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
};

}  // namespace

std::string TryLaunch(const KernelCall& call, CudaKernel& kernel) {
  std::vector<std::int64_t> bytes[2];  // of the op's inputs and outputs
  for (const auto* arguments : {&call.inputs, &call.outputs}) {
    for (const Argument& argument : *arguments) {
      auto& sizes = bytes[argument.is_output];
      if (static_cast<int>(sizes.size()) <= argument.index) sizes.resize(argument.index + 1);
      sizes[argument.index] = std::max(sizes[argument.index], argument.view.end_bytes());
    }
  }
  std::vector<std::unique_ptr<void, Free>> owned;
  const auto allocate = [&](std::int64_t size) -> void* {
    void* memory = nullptr;
    const cudaError_t result =
        cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears the error
      return nullptr;
    }
    EMPLACE_CUDA_CHECK(result);
    owned.emplace_back(memory);
    return memory;
  };
  cudaStream_t raw = nullptr;
  EMPLACE_CUDA_CHECK(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking));
  const std::unique_ptr<CUstream_st, DestroyStream> stream(raw);
  std::vector<void*> pointers[2];
  for (int side = 0; side < 2; ++side) {
    for (const std::int64_t size : bytes[side]) {
      void* memory = allocate(size);
      if (memory == nullptr) return "";
      if (size > 0) EMPLACE_CUDA_CHECK(cudaMemsetAsync(memory, 0, size, stream.get()));
      pointers[side].push_back(memory);
    }
  }
  void* scratch = allocate(kernel.scratch_bytes());
  if (scratch == nullptr) return "";
  try {
    kernel.Launch(pointers[0].data(), pointers[1].data(), scratch, stream.get());
  } catch (const CudaError& error) {
    cudaGetLastError();  // clears the error, which the next launch would report again
    EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream.get()));
    return error.what();
  }
  EMPLACE_CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  return "";
}

}  // namespace emplace::cuda
