#pragma once

// What CUDA hands out, owned.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

namespace emplace::cuda {

struct HandleDeleter {
  void operator()(CUstream_st* stream) const noexcept { cudaStreamDestroy(stream); }
  void operator()(CUevent_st* event) const noexcept { cudaEventDestroy(event); }
  void operator()(CUgraph_st* graph) const noexcept { cudaGraphDestroy(graph); }
  void operator()(CUgraphExec_st* graph) const noexcept { cudaGraphExecDestroy(graph); }
};
using Stream = std::unique_ptr<CUstream_st, HandleDeleter>;
using Event = std::unique_ptr<CUevent_st, HandleDeleter>;
using Graph = std::unique_ptr<CUgraph_st, HandleDeleter>;
using GraphExec = std::unique_ptr<CUgraphExec_st, HandleDeleter>;

/// On the current GPU, not synchronised with the default stream. @throws CudaError
Stream MakeStream();
/// On the current GPU. @param timed  false: only for waiting, which is cheaper @throws CudaError
Event MakeEvent(bool timed);
/// From `start` to `end`, both of one GPU and finished. @return [ns] @throws CudaError
double NanosBetween(cudaEvent_t start, cudaEvent_t end);

/// Bytes on a GPU or page-locked on the host, freed with the last owner.
using Memory = std::shared_ptr<std::byte>;
/// On the current GPU. @param owner  for the message: "gpu:0"
/// @throws RunError naming owner and bytes if there is not as much
Memory AllocateOnGpu(std::int64_t bytes, const std::string& owner);
/// On the host, in reach of every GPU and of copy engines. @throws RunError likewise
Memory AllocatePinned(std::int64_t bytes, const std::string& owner);

/// Makes a GPU the calling thread's current one; without a call to CUDA if it is already.
void SelectGpu(int gpu);

/// Settings that CUDA reads when it starts: as many hardware queues as it has, so that streams do
/// not wait for each other's place in one. Leaves what the user has set. To be called before the
/// first use of CUDA.
void PrepareEnvironment();

}  // namespace emplace::cuda
