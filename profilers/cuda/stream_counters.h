#pragma once

// Counters in page-locked memory of the host (executor/step_counter.h) that streams wait for and
// raise.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "profilers/executor/step_counter.h"

namespace emplace::cuda {

// A latch is a counter that holds a stream back: 0 closed, kFinished open.
using Counter = StepCounter;
inline constexpr std::uint64_t kFinished = 1;
inline void SetFinished(Counter& counter) {
  Raise(counter, kFinished);
}

/// Enqueues a wait for a counter, or a write to it.
/// @throws CudaError
void EnqueueAwait(cudaStream_t stream, const StepCounter& counter, std::uint64_t count);
void EnqueueRaise(cudaStream_t stream, StepCounter& counter, std::uint64_t count);

}  // namespace emplace::cuda
