#include "profilers/cpu/cpu_machine.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace {
namespace {

constexpr int kMaxHelpers = 4;

// Equal for equal calls and only for those.
std::string KeyOf(const KernelCall& call) {
  const KernelParams& p = call.params;
  const Window& w = p.window;
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                                ToString(call.kind),
                                static_cast<int>(p.function),
                                w.size,
                                w.stride,
                                w.pad_begin,
                                w.pad_end,
                                w.dilation,
                                w.count_include_pad,
                                p.groups,
                                p.alpha,
                                p.epsilon,
                                p.momentum,
                                p.saves_inverse_std,
                                p.zero_output,
                                p.learning_rate,
                                p.beta1,
                                p.beta2,
                                p.weight_decay,
                                call.inputs.size(),
                                call.outputs.size());
  for (const auto* side : {&call.inputs, &call.outputs}) {
    for (const Argument& a : *side) {
      key += fmt::format(" {}{} {} {} {} {}",
                         a.is_output ? 'o' : 'i',
                         a.index,
                         ToString(a.view.dtype),
                         a.view.shape,
                         a.view.strides,
                         a.view.offset);
    }
  }
  return key;
}

std::vector<std::vector<int>> CoresOfWorkers(const std::vector<CpuGroup>& groups) {
  std::vector<std::vector<int>> cores;
  std::set<int> taken;
  for (const CpuGroup& group : groups) {
    cores.push_back(group.cores);
    taken.insert(group.cores.begin(), group.cores.end());
  }
  int helpers = 0;
  for (int core : AllowedCores()) {
    if (taken.contains(core) || groups.size() == 1 || helpers == kMaxHelpers) continue;
    cores.push_back({core});
    ++helpers;
  }
  return cores;
}

}  // namespace

CpuKernel* CpuDevice::Kernel(const KernelCall& call, int threads) {
  const auto [entry, is_new] = kernels.try_emplace(KeyOf(call));
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
      workers(CoresOfWorkers(groups)) {
  for (size_t d = 0; d < groups.size(); ++d) {
    devices.push_back(std::make_unique<CpuDevice>(memory_per_device));
  }
}

}  // namespace emplace
