#pragma once

// The resources that the programs of a CPU backend share: threads, memory, prepared kernels.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profilers/cpu/cpu_backend.h"
#include "profilers/cpu/cpu_kernel.h"
#include "profilers/cpu/cpu_system.h"
#include "profilers/cpu/worker_pool.h"

namespace emplace {

/// One group of cores. Only its own worker prepares and runs its kernels.
struct CpuDevice {
  explicit CpuDevice(std::int64_t memory) : arena(memory) {}

  /// Returns the kernel of a call. The first request prepares it.
  /// @param threads  of the group
  /// @throws RunError naming a call without a kernel
  CpuKernel* Kernel(const KernelCall& call, int threads);

  ReservedMemory arena;                     ///< shared by all programs; its address never changes
  std::unique_ptr<ReservedMemory> scratch;  ///< sufficient for all kernels so far; nullptr: none
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels;  ///< by CallKey
};

/// All groups of a backend with their workers.
struct CpuMachine {
  /// @param groups  not empty; no core in two of them
  explicit CpuMachine(std::vector<CpuGroup> groups);

  std::vector<CpuGroup> groups;
  std::int64_t memory_per_device = 0;  ///< an equal share of the physical memory [B]
  std::vector<std::unique_ptr<CpuDevice>> devices;
  ReservedMemory staging;  ///< holds copies of several hops between two hops (kStaging)
  WorkerPool workers;      ///< [num_devices] one for each group
};

}  // namespace emplace
