#pragma once

// Owners of CUDA's streams, events, graphs and memory.

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

/// Makes a stream of the current GPU that does not synchronise with the default stream.
/// @throws CudaError
Stream MakeStream();
/// Makes an event of the current GPU.
/// @param timed  false: the event can only be waited for, which costs less
/// @throws CudaError
Event MakeEvent(bool timed);
/// Returns the time between two finished events of one GPU [ns].
/// @throws CudaError
double NanosBetween(cudaEvent_t start, cudaEvent_t end);

/// Memory on a GPU or page-locked memory on the host. The last owner frees it.
using Memory = std::shared_ptr<std::byte>;
/// Allocates `bytes` on the current GPU.
/// @param owner  for the message: "gpu:0"
/// @throws RunError naming owner and bytes if there is not enough memory
Memory AllocateOnGpu(std::int64_t bytes, const std::string& owner);
/// Allocates `bytes` of page-locked memory on the host, which every GPU and its copy engines can
/// access.
/// @throws RunError as AllocateOnGpu()
Memory AllocatePinned(std::int64_t bytes, const std::string& owner);

/// Makes a GPU the current one of the calling thread. Makes no CUDA call if it is already current.
void SelectGpu(int gpu);

/// Sets the environment variables that CUDA reads at its start, unless the user has set them. They
/// request the largest number of hardware queues, so that streams do not share a queue and wait for
/// each other. Must be called before the first use of CUDA.
void PrepareEnvironment();

}  // namespace emplace::cuda
