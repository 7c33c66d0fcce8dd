#include "profilers/cuda/stream_counters.h"

#include "profilers/cuda/driver_api.h"

namespace emplace::cuda {

namespace {

CUdeviceptr DevicePointer(const StepCounter& counter) {
  // With unified addressing, page-locked memory has the same address on host and GPU.
  return reinterpret_cast<CUdeviceptr>(&counter);
}

}  // namespace

void EnqueueAwait(cudaStream_t stream, const StepCounter& counter, std::uint64_t count) {
  EMPLACE_DRIVER_CHECK(
      Driver().StreamWaitValue64(stream, DevicePointer(counter), count, CU_STREAM_WAIT_VALUE_GEQ));
}

void EnqueueRaise(cudaStream_t stream, StepCounter& counter, std::uint64_t count) {
  EMPLACE_DRIVER_CHECK(Driver().StreamWriteValue64(
      stream, DevicePointer(counter), count, CU_STREAM_WRITE_VALUE_DEFAULT));
}

}  // namespace emplace::cuda
