#pragma once

// Devices that are GPUs or partitions of one, with CPU groups beside them if wanted.
//
// Partitions are green contexts: disjoint groups of SMs. Memory, L2, copy engines, power and clocks
// are shared, so partitions slow each other down where whole GPUs would not.
//
// How a step runs. Each GPU device has one in-order compute stream, each channel one copy stream;
// events order them. CPU devices are threads of their own. Where a GPU waits for a CPU or the other
// way round, a counter in page-locked host memory stands between them, which the CPU sets or spins
// on and the GPU writes or waits for (stream memory operations), so that no host thread is in the
// middle.
//   eager  a host thread walks the plan in issue order and enqueues every command in every step.
//          Step time: the host's clock from the first issue until the last command has reported.
//   graph  the same calls captured once into one CUDA graph, held back by a latch until it is
//          handed over whole. Step time: the GPU's clock from the latch's opening to the graph's
//          end; the host's clock if CPU devices take part.
// Traced steps record an event on either side of every command (in graphs as nodes). What that
// costs is measured on chains of empty kernels and taken out again (retime.h).

#include <memory>
#include <vector>

#include "profilers/device_spec.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

/// @param devices  at least one GPU; the backend keeps their order
/// @throws InputError for partitions that the GPU cannot give (with what it can) and for an
/// environment in which nothing can be timed; RunError if a device fails
std::shared_ptr<Backend> MakeCudaBackend(const std::vector<DeviceSpec>& devices);

}  // namespace emplace::cuda
