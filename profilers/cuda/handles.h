#pragma once

// Streams, events, graphs and memory of CUDA with owners that free them.

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

/// A stream of the current GPU that does not synchronise with the default stream. @throws CudaError
Stream MakeStream();
/// An event of the current GPU. @param timed  false: it can only be waited for, which costs less
/// @throws CudaError
Event MakeEvent(bool timed);
/// Time between two finished events of one GPU [ns]. @throws CudaError
double NanosBetween(cudaEvent_t start, cudaEvent_t end);

/// Memory on a GPU or page-locked on the host, freed with its last owner.
using Memory = std::shared_ptr<std::byte>;
/// `bytes` on the current GPU. @param owner  for the message: "gpu:0"
/// @throws RunError naming owner and bytes if there is not that much memory
Memory AllocateOnGpu(std::int64_t bytes, const std::string& owner);
/// `bytes` of page-locked memory on the host, which every GPU and its copy engines can reach.
/// @throws RunError likewise
Memory AllocatePinned(std::int64_t bytes, const std::string& owner);

/// Makes a GPU the calling thread's current one. Makes no CUDA call if it is already.
void SelectGpu(int gpu);

/// Sets the environment variables that CUDA reads when it starts, unless the user has set them: as
/// many hardware queues as there can be, so that streams need not share one and wait for each
/// other. To be called before the first use of CUDA.
void PrepareEnvironment();

}  // namespace emplace::cuda
