#pragma once

// Measures what retime.h subtracts.

#include <cuda_runtime_api.h>

#include "profilers/executor/retime.h"

namespace emplace::cuda {

/// What an event on either side of a command costs on the current GPU. Times chains of empty
/// kernels with and without events, whose difference per kernel is pair + between, and pairs of
/// events with nothing between them (pair). All are medians of several chains.
/// @param as_graph  true: events as nodes of a captured graph; false: enqueued on the stream
/// @throws CudaError
TraceOverhead MeasureTraceOverhead(cudaStream_t stream, bool as_graph);

}  // namespace emplace::cuda
