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

  /// The kernel of a call, prepared when it is asked for the first time.
  /// @throws RunError naming the call if there is none
  CpuKernel* Kernel(const KernelCall& call, int threads);

  ReservedMemory arena;                     ///< of all programs; addresses never change
  std::unique_ptr<ReservedMemory> scratch;  ///< of the hungriest kernel so far, or nullptr
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels;  ///< by content of the call
};

struct CpuMachine {
  /// @param groups  not empty, disjoint
  explicit CpuMachine(std::vector<CpuGroup> groups);

  std::vector<CpuGroup> groups;
  std::int64_t memory_per_device = 0;  ///< [B]
  std::vector<std::unique_ptr<CpuDevice>> devices;
  ReservedMemory staging;
  /// Workers 0 .. num_devices - 1 are the groups'; those behind them, on cores of no group, only
  /// copy.
  WorkerPool workers;
};

}  // namespace emplace
