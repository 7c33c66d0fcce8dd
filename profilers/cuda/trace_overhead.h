#pragma once

#include <cuda_runtime_api.h>

#include "profilers/cuda/retime.h"

namespace emplace::cuda {

/// What an event on either side of a command costs on the current GPU: chains of empty kernels with
/// and without events (their difference is pair + between), and two events with nothing in between
/// (pair). Medians of several chains.
/// @param as_graph  as nodes of a captured graph; else enqueued on the stream
/// @throws CudaError
TraceOverhead MeasureTraceOverhead(cudaStream_t stream, bool as_graph);

}  // namespace emplace::cuda
