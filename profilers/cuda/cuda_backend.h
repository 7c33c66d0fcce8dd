#pragma once

// Devices that are GPUs or partitions of one, with CPU groups beside them if wanted.
//
// Partitions are CUDA's green contexts: disjoint groups of streaming multiprocessors (SMs) of one
// GPU. Memory, L2 cache, copy engines, power and clocks are shared, so partitions slow each other
// down where whole GPUs would not.
//
// How a step runs. Each GPU device has one in-order compute stream and each channel with an end on
// a GPU one copy stream; events order them (executor/stream_queues.h, which also tells what the two
// dispatch modes do). CPU devices run as they do without a GPU (cpu/core_queues.h), but for their
// memory, which is page-locked. Where a GPU waits for cores or the reverse, the counter of a queue
// stands between the two, in page-locked memory: cores raise it or spin on it, the GPU writes it or
// waits for it (stream memory operations), and no other host thread takes part.
//
// Traced steps record an event on either side of every command (in graphs as nodes). What the
// events cost is measured on chains of empty kernels and subtracted (executor/retime.h).

#include <memory>
#include <vector>

#include "profilers/device_spec.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// @param devices  at least one of them on a GPU; the backend keeps their order
/// @throws InputError for partitions that the GPU cannot give (naming those it can) and for an
/// environment in which nothing can be timed; RunError if a device fails
std::shared_ptr<Backend> MakeCudaBackend(const std::vector<DeviceSpec>& devices);

}  // namespace emplace::cuda
