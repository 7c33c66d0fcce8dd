#pragma once

// What the programs of a CPU backend share: threads, memory, prepared kernels.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profilers/cpu/cpu_backend.h"
#include "profilers/cpu/cpu_kernel.h"
#include "profilers/cpu/cpu_system.h"
#include "profilers/cpu/worker_pool.h"

namespace emplace {

/// One group of cores. Its kernels are prepared and run by its own worker only.
struct CpuDevice {
  explicit CpuDevice(std::int64_t memory) : arena(memory) {}

  /// The kernel of a call, prepared when it is asked for the first time. @param threads  of the
  /// group
  /// @throws RunError naming the call if there is none
  CpuKernel* Kernel(const KernelCall& call, int threads);

  ReservedMemory arena;                     ///< shared by all programs; its address never changes
  std::unique_ptr<ReservedMemory> scratch;  ///< as large as any kernel so far needs; nullptr: none
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels;  ///< by CallKey
};

/// All groups of a backend with their workers.
struct CpuMachine {
  /// @param groups  not empty, no core in two of them
  explicit CpuMachine(std::vector<CpuGroup> groups);

  std::vector<CpuGroup> groups;
  std::int64_t memory_per_device = 0;  ///< an equal share of the physical memory [B]
  std::vector<std::unique_ptr<CpuDevice>> devices;
  ReservedMemory staging;  ///< where copies of several hops rest (kStaging)
  WorkerPool workers;      ///< [num_devices] one for each group
};

}  // namespace emplace
