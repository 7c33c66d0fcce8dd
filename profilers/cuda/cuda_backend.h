#pragma once

// Devices that are GPUs or partitions of a GPU, with optional groups of cores.
//
// Partitions are CUDA's green contexts: disjoint groups of streaming multiprocessors (SMs) of one
// GPU. They share memory, L2 cache, copy engines, power and clocks, so partitions can slow each
// other down in cases where whole GPUs cannot.
//
// Execution of a step: each GPU device has one in-order compute stream, and each channel that
// starts or ends on a GPU has one copy stream. Events order them (executor/stream_queues.h, which
// also describes the two dispatch modes). CPU devices run as without a GPU (cpu/core_queues.h),
// except that their memory is page-locked. If a GPU waits for cores or cores wait for a GPU, they
// use the counter of a queue in page-locked memory. Cores raise the counter or spin on it. The GPU
// writes it or waits for it (stream memory operations). No other host thread takes part.
//
// Traced steps record an event before and after every command (in graphs as nodes). The cost of the
// events is measured on chains of empty kernels and subtracted (executor/retime.h).

#include <memory>
#include <vector>

#include "profilers/device_spec.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// @param devices  at least one of them on a GPU; the backend keeps their order
/// @throws InputError for partitions that the GPU does not support (naming the supported ones) and
///   for an environment that prevents timing
/// @throws RunError if a device fails
std::shared_ptr<Backend> MakeCudaBackend(const std::vector<DeviceSpec>& devices);

}  // namespace emplace::cuda
