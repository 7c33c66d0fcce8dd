#pragma once

// Measures the overhead of tracing, which retime.h subtracts.

#include <cuda_runtime_api.h>

#include "profilers/executor/retime.h"

namespace emplace::cuda {

/// Measures the overhead of the two events around a command on the current GPU. Chains of empty
/// kernels are timed with and without events; the difference per kernel is pair + between. Pairs of
/// events with nothing between them give pair. All values are medians of several chains.
/// @param as_graph  true: events as nodes of a captured graph; false: enqueued on the stream
/// @throws CudaError
TraceOverhead MeasureTraceOverhead(cudaStream_t stream, bool as_graph);

}  // namespace emplace::cuda
