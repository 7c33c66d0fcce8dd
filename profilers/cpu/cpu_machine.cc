#include "profilers/cpu/cpu_machine.h"

#include "profilers/kernels/kernel_call.h"

namespace emplace {
namespace {

std::vector<std::vector<int>> CoresOf(const std::vector<CpuGroup>& groups) {
  std::vector<std::vector<int>> cores;
  for (const CpuGroup& group : groups) cores.push_back(group.cores);
  return cores;
}

}  // namespace

CpuKernel* CpuDevice::Kernel(const KernelCall& call, int threads) {
  const auto [entry, is_new] = kernels.try_emplace(CallKey(call));
  if (is_new) {
    try {
      entry->second = PrepareCpuKernel(call, threads);
    } catch (...) {
      kernels.erase(entry);
      throw;
    }
    const std::int64_t bytes = entry->second->scratch_bytes();
    if (bytes > (scratch ? scratch->size() : 0)) {
      scratch = std::make_unique<ReservedMemory>(bytes);
      scratch->Touch(bytes);
    }
  }
  return entry->second.get();
}

CpuMachine::CpuMachine(std::vector<CpuGroup> g)
    : groups(std::move(g)),
      memory_per_device(PhysicalMemory() / static_cast<std::int64_t>(groups.size())),
      staging(PhysicalMemory()),
      workers(CoresOf(groups)) {
  for (size_t d = 0; d < groups.size(); ++d) {
    devices.push_back(std::make_unique<CpuDevice>(memory_per_device));
  }
}

}  // namespace emplace
