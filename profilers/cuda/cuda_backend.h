#pragma once

// Devices that are GPUs or partitions of one, with CPU groups beside them if wanted.
//
// Partitions are CUDA's green contexts: disjoint groups of streaming multiprocessors (SMs) of one
// GPU. Memory, L2 cache, copy engines, power and clocks are shared, so partitions slow each other
// down where whole GPUs would not.
//
// How a step runs. Each GPU device has one in-order compute stream and each channel one copy
// stream; events order them. CPU devices are threads. Where a GPU waits for a CPU or the reverse, a
// counter in page-locked host memory stands between the two: the CPU sets it or spins on it, the
// GPU writes it or waits for it (stream memory operations), and no other host thread takes part.
//   eager  A host thread goes through the plan in issue order and enqueues every command in every
//          step. Step time: the host's clock from the first issue until the last command has
//          reported its end.
//   graph  The same calls are captured once into one CUDA graph. In a step it is launched behind a
//          closed latch (samplers.h), which opens when the launch is complete. Step time: the GPU's
//          clock from the latch's opening to the graph's end; the host's clock if CPU devices take
//          part.
//
// Traced steps record an event on either side of every command (in graphs as nodes). What the
// events cost is measured on chains of empty kernels and subtracted (retime.h).

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
