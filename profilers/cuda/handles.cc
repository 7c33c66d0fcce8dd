#include "profilers/cuda/handles.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"

namespace emplace::cuda {

namespace {

[[noreturn]] void ThrowAllocation(const std::string& owner,
                                  const char* what,
                                  std::int64_t bytes,
                                  cudaError_t error) {
  cudaGetLastError();  // an allocation that failed leaves the context usable
  throw RunError(fmt::format("{}: cannot allocate {} bytes of {} memory: {} ({})",
                             owner,
                             bytes,
                             what,
                             cudaGetErrorName(error),
                             cudaGetErrorString(error)));
}

}  // namespace

Stream MakeStream() {
  cudaStream_t stream = nullptr;
  EMPLACE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

Event MakeEvent(bool timed) {
  cudaEvent_t event = nullptr;
  EMPLACE_CUDA_CHECK(
      cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming));
  return Event(event);
}

double NanosBetween(cudaEvent_t start, cudaEvent_t end) {
  float milliseconds = 0;
  EMPLACE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  return static_cast<double>(milliseconds) * 1e6;
}

Memory AllocateOnGpu(std::int64_t bytes, const std::string& owner) {
  void* memory = nullptr;
  const auto size = static_cast<size_t>(std::max<std::int64_t>(bytes, 1));
  const cudaError_t error = cudaMalloc(&memory, size);
  if (error != cudaSuccess) ThrowAllocation(owner, "GPU", bytes, error);
  return Memory(static_cast<std::byte*>(memory), [](std::byte* p) { cudaFree(p); });
}

Memory AllocatePinned(std::int64_t bytes, const std::string& owner) {
  void* memory = nullptr;
  const auto size = static_cast<size_t>(std::max<std::int64_t>(bytes, 1));
  const cudaError_t error =
      cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error != cudaSuccess) ThrowAllocation(owner, "page-locked", bytes, error);
  return Memory(static_cast<std::byte*>(memory), [](std::byte* p) { cudaFreeHost(p); });
}

void SelectGpu(int gpu) {
  thread_local int current = -1;
  if (gpu == current) return;
  EMPLACE_CUDA_CHECK(cudaSetDevice(gpu));
  current = gpu;
}

void PrepareEnvironment() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
}

}  // namespace emplace::cuda
