#include "profilers/cpu/cpu_backend.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_machine.h"
#include "profilers/cpu/cpu_program.h"
#include "profilers/cpu/cpu_samplers.h"

namespace emplace {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(std::shared_ptr<CpuMachine> machine) : machine_(std::move(machine)) {
    const std::string model = CpuModel();
    const int count = static_cast<int>(machine_->groups.size());
    for (int d = 0; d < count; ++d) {
      const CpuGroup& group = machine_->groups[d];
      DeviceKind kind;
      kind.name = CpuKindName(model, static_cast<int>(group.cores.size()));
      kind.device_class = DeviceClass::kCpu;
      devices_.push_back({group.name,
                          kind,
                          machine_->memory_per_device,
                          fmt::format("core{} {} of {}",
                                      group.cores.size() == 1 ? "" : "s",
                                      fmt::join(group.cores, ", "),
                                      model)});
      for (int to = 0; to < count; ++to) {
        if (to != d) links_.push_back({d, to, "host", true});
      }
    }
  }

  std::span<const BackendDevice> devices() const override { return devices_; }
  std::span<const BackendLink> links() const override { return links_; }

  std::map<std::string, std::string> Properties() const override {
    return {{"cpu", CpuModel()}, {"kernel", KernelRelease()}, {"onednn", CpuKernelLibraries()}};
  }

  std::vector<ClockReading> ReadClocks() override {
    std::vector<ClockReading> clocks;
    for (const CpuGroup& group : machine_->groups) {
      clocks.push_back({group.name, ClockMhz(group.cores[0]), {}});
    }
    return clocks;
  }

  std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                DispatchMode mode) override {
    if (mode != DispatchMode::kGraph) {
      throw InputError(
          "dispatch mode eager: CPU devices run lists of their own; expected mode graph");
    }
    return std::make_unique<CpuProgram>(machine_, std::move(plan));
  }

  Sampler OpSampler(int device,
                    const OpWork& work,
                    std::span<const std::int64_t> input_bytes,
                    std::span<const std::int64_t> output_bytes,
                    CacheState cache) override {
    return MakeCpuOpSampler(machine_, device, work, input_bytes, output_bytes, cache);
  }

  std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) override {
    return PrepareCpuOp(machine_, op);
  }

  Sampler AloneSampler(std::shared_ptr<PreparedOp> op) override {
    return MakeCpuAloneSampler(std::move(op));
  }

  std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                       std::shared_ptr<PreparedOp> beside) override {
    return MakeCpuBesideSampler(std::move(timed), std::move(beside));
  }

  Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside) override {
    return MakeCpuCopySampler(
        machine_, links_.at(link), bytes, beside ? &links_.at(*beside) : nullptr);
  }

  std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) override {
    return MakeCpuDispatchSampler(machine_, device, quantity);
  }

 private:
  std::shared_ptr<CpuMachine> machine_;
  std::vector<BackendDevice> devices_;
  std::vector<BackendLink> links_;
};

}  // namespace

std::shared_ptr<CpuMachine> OpenCpuMachine(std::vector<CpuGroup> groups) {
  if (groups.empty()) throw InputError("no CPU devices: expected at least one group of cores");
  std::map<int, std::string> owner;
  for (const CpuGroup& group : groups) {
    if (group.cores.empty()) {
      throw InputError(fmt::format("device \"{}\" has no cores; this process may use cores {}",
                                   group.name,
                                   fmt::join(AllowedCores(), ", ")));
    }
    for (int core : group.cores) {
      const auto [entry, is_new] = owner.try_emplace(core, group.name);
      if (is_new) continue;
      throw InputError(fmt::format("core {} is in devices \"{}\" and \"{}\"; expected in one",
                                   core,
                                   entry->second,
                                   group.name));
    }
  }
  return std::make_shared<CpuMachine>(std::move(groups));
}

std::shared_ptr<Backend> CpuBackendOn(std::shared_ptr<CpuMachine> machine) {
  return std::make_shared<CpuBackend>(std::move(machine));
}

std::shared_ptr<Backend> MakeCpuBackend(std::vector<CpuGroup> groups) {
  return CpuBackendOn(OpenCpuMachine(std::move(groups)));
}

}  // namespace emplace
