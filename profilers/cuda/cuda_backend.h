#pragma once

// Devices that are GPUs or partitions of one (green contexts: disjoint groups of SMs that share
// memory, L2, copy engines, power and clocks), with CPU groups beside them if wanted.

#include <memory>
#include <string>
#include <vector>

#include "profilers/cpu/cpu_backend.h"
#include "profilers/executor/backend.h"

namespace emplace::cuda {

struct GpuDeviceSpec {
  std::string name;  ///< "gpu:0", "gpu:0.2"
  int gpu = 0;       ///< CUDA's ordinal
  int sm_count = 0;  ///< of the partition; 0: the whole GPU
};

/// @throws InputError for partitions that the GPU cannot give (with what it can), RunError if a
/// device fails
std::shared_ptr<Backend> MakeCudaBackend(const std::vector<GpuDeviceSpec>& gpus,
                                         const std::vector<CpuGroup>& cpus);

}  // namespace emplace::cuda
