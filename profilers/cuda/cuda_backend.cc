#include "profilers/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cuda/cuda_check.h"
#include "profilers/cuda/cuda_program.h"
#include "profilers/cuda/devices.h"
#include "profilers/cuda/gpu_names.h"
#include "profilers/cuda/nvml.h"
#include "profilers/cuda/samplers.h"

namespace emplace::cuda {

namespace {

/// Runs `function` and converts a CudaError to a RunError that names `where`.
template <typename Function>
auto WithDevice(const std::string& where, const Function& function) {
  try {
    return function();
  } catch (const CudaError& error) {
    throw RunError(where + ": " + error.what());
  }
}

Sampler Named(const std::string& where, Sampler sampler) {
  return [where, sampler = std::move(sampler)](int count, std::vector<double>& timings) {
    WithDevice(where, [&] { sampler(count, timings); });
  };
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const std::vector<DeviceSpec>& specs)
      : devices_(std::make_shared<Devices>(specs)) {
    cpu_index_.assign(specs.size(), -1);
    const std::vector<int>& device_of_group = devices_->device_of_group();
    for (int g = 0; g < std::ssize(device_of_group); ++g) cpu_index_[device_of_group[g]] = g;
    if (devices_->cpu_machine()) cpus_ = CpuBackendOn(devices_->cpu_machine());
    DescribeDevices();
    FindLinks();
  }

  std::span<const BackendDevice> devices() const override { return descriptions_; }
  std::span<const BackendLink> links() const override { return links_; }

  std::map<std::string, std::string> Properties() const override {
    std::map<std::string, std::string> properties;
    if (cpus_) properties = cpus_->Properties();
    std::string names;
    for (int gpu : devices_->used_gpus()) {
      names += (names.empty() ? "" : ", ") + devices_->gpu(gpu).name;
    }
    properties["gpu"] = names;
    const std::string driver = DriverVersion();
    properties["driver"] = (driver.empty() ? "" : driver + ", ") + "CUDA " +
                           devices_->gpu(devices_->used_gpus().front()).driver;
    int runtime = 0;
    EMPLACE_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    properties["cuda"] = fmt::format("{}.{}", runtime / 1000, runtime % 1000 / 10);
    for (int d = 0; d < devices_->size(); ++d) {
      if ((*devices_)[d].factory) {
        properties["cuda_libraries"] = (*devices_)[d].factory->Libraries();
      }
    }
    return properties;
  }

  std::vector<ClockReading> ReadClocks() override {
    std::vector<ClockReading> readings;
    for (int gpu : devices_->used_gpus()) {
      char bus[32] = "";
      const std::string name = fmt::format("gpu:{}", gpu);
      WithDevice(name, [&] { EMPLACE_CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), gpu)); });
      const GpuClocks clocks = ReadGpuClocks(bus);
      readings.push_back({name, clocks.sm_mhz, clocks.temperature});
    }
    if (cpus_) {
      for (const ClockReading& reading : cpus_->ReadClocks()) readings.push_back(reading);
    }
    return readings;
  }

  std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                DispatchMode mode) override {
    return WithDevice("loading a plan",
                      [&] { return LoadProgram(devices_, std::move(plan), mode); });
  }

  std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) override {
    auto prepared = std::make_shared<MixedOp>();
    prepared->device = op.device;
    if (cpu_index_[op.device] >= 0) {
      LoneOp inner = op;
      inner.device = cpu_index_[op.device];
      prepared->on_cpu = cpus_->Prepare(inner);
    } else {
      prepared->on_gpu =
          WithDevice(descriptions_[op.device].name, [&] { return PrepareOp(*devices_, op); });
    }
    return prepared;
  }

  Sampler AloneSampler(std::shared_ptr<PreparedOp> op) override {
    const auto mixed = std::dynamic_pointer_cast<MixedOp>(op);
    if (mixed->on_cpu) return cpus_->AloneSampler(mixed->on_cpu);
    const std::string& name = descriptions_[mixed->device].name;
    return WithDevice(name, [&] { return Named(name, MakeAloneSampler(mixed->on_gpu)); });
  }

  std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                       std::shared_ptr<PreparedOp> beside) override {
    const auto victim = std::dynamic_pointer_cast<MixedOp>(timed),
               aggressor = std::dynamic_pointer_cast<MixedOp>(beside);
    if (victim->on_cpu && aggressor->on_cpu) {
      return cpus_->BesideSampler(victim->on_cpu, aggressor->on_cpu);
    }
    const std::optional<int> gpu = (*devices_)[victim->device].gpu;
    if (!gpu || gpu != (*devices_)[aggressor->device].gpu) return std::nullopt;
    const std::string& name = descriptions_[victim->device].name;
    return WithDevice(
        name, [&] { return Named(name, MakeBesideSampler(victim->on_gpu, aggressor->on_gpu)); });
  }

  Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside) override {
    const std::string name = NameOf(link);
    return WithDevice(name, [&] {
      Sampler sampler;
      std::shared_ptr<BusyLink> busy;
      if (beside && IsOnHost(link) && IsOnHost(*beside)) {
        return cpus_->CopySampler(cpu_link_[link], bytes, cpu_link_[*beside]);
      }
      if (IsOnHost(link)) {
        sampler = cpus_->CopySampler(cpu_link_[link], bytes);
      } else {
        sampler = MakeCopySampler(MakePair(link, bytes));
      }
      if (beside) {
        // Large enough that the other link is almost never idle.
        constexpr std::int64_t kLeast = std::int64_t{4} << 20;
        busy = std::make_shared<BusyLink>(MakePair(*beside, std::max(bytes, kLeast)));
      }
      return Named(name,
                   [sampler = std::move(sampler), busy](int count, std::vector<double>& timings) {
                     sampler(count, timings);
                     if (busy) busy->CheckAlive();
                   });
    });
  }

  std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) override {
    if (cpu_index_[device] >= 0) return cpus_->DispatchSampler(cpu_index_[device], quantity);
    const std::string& name = descriptions_[device].name;
    return WithDevice(name, [&]() -> std::optional<Sampler> {
      return Named(name, MakeDispatchSampler(*devices_, device, quantity));
    });
  }

 private:
  // An op on a CPU or on a GPU, according to its device.
  struct MixedOp : PreparedOp {
    int device = 0;
    std::shared_ptr<PreparedOp> on_cpu;
    std::shared_ptr<LaunchableOp> on_gpu;
  };

  void DescribeDevices() {
    std::map<int, int> parts;  // devices of each GPU
    for (int d = 0; d < devices_->size(); ++d) {
      if ((*devices_)[d].gpu) ++parts[*(*devices_)[d].gpu];
    }
    for (int d = 0; d < devices_->size(); ++d) {
      const Device& device = (*devices_)[d];
      if (!device.gpu) {
        descriptions_.push_back(cpus_->devices()[cpu_index_[d]]);
        continue;
      }
      const GpuInfo& gpu = devices_->gpu(*device.gpu);
      SelectGpu(*device.gpu);
      size_t free = 0, total = 0;
      EMPLACE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
      BackendDevice description;
      description.name = device.name;
      description.kind.name = GpuKindName(gpu.name, device.sm_count);
      description.kind.device_class = DeviceClass::kGpu;
      // A tenth is reserved for scratch, libraries and memory allocated earlier.
      description.memory = static_cast<std::int64_t>(free / 10 * 9) / parts[*device.gpu];
      description.description = GpuDescription(gpu.name, device.sm_count, gpu.sm_count);
      descriptions_.push_back(description);
    }
  }

  void FindLinks() {
    for (int from = 0; from < devices_->size(); ++from) {
      for (int to = 0; to < devices_->size(); ++to) {
        if (from == to) continue;
        const std::optional<int> a = (*devices_)[from].gpu, b = (*devices_)[to].gpu;
        BackendLink link{from, to, ""};
        int cpu_link = -1;
        if (a && b) {
          int reachable = *a == *b ? 1 : 0;
          if (*a != *b) EMPLACE_CUDA_CHECK(cudaDeviceCanAccessPeer(&reachable, *a, *b));
          if (reachable == 0) continue;  // copies go over a CPU device
          link.memory = *a == *b ? "device" : "peer";
        } else if (a || b) {
          link.memory = "pinned";
        } else {
          const auto inner = cpus_->links();
          const auto found =
              std::find_if(inner.begin(), inner.end(), [&](const BackendLink& candidate) {
                return candidate.from == cpu_index_[from] && candidate.to == cpu_index_[to];
              });
          EMPLACE_CHECK(found != inner.end());
          link.memory = found->memory;
          link.by_source = found->by_source;
          cpu_link = static_cast<int>(found - inner.begin());
        }
        links_.push_back(link);
        cpu_link_.push_back(cpu_link);
      }
    }
  }

  bool IsOnHost(int link) const { return cpu_link_[link] >= 0; }
  std::string NameOf(int link) const {
    return descriptions_[links_[link].from].name + "->" + descriptions_[links_[link].to].name;
  }
  std::unique_ptr<CopyPair> MakePair(int link, std::int64_t bytes) {
    return std::make_unique<CopyPair>(
        (*devices_)[links_[link].from].gpu, (*devices_)[links_[link].to].gpu, bytes, NameOf(link));
  }

  std::shared_ptr<Devices> devices_;
  std::shared_ptr<Backend> cpus_;  // measures ops, copies and dispatch of the CPU devices
  std::vector<int> cpu_index_;     // [num_devices] among the CPU devices; -1: a GPU
  std::vector<BackendDevice> descriptions_;
  std::vector<BackendLink> links_;
  std::vector<int> cpu_link_;  // [links] index into cpus_->links(); -1: a GPU takes part
};

}  // namespace

std::shared_ptr<Backend> MakeCudaBackend(const std::vector<DeviceSpec>& devices) {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::string_view(blocking) != "" &&
      std::string_view(blocking) != "0") {
    throw InputError(
        fmt::format("the environment sets CUDA_LAUNCH_BLOCKING={}, so every launch would wait for "
                    "its end and launches that are enqueued ahead could not be timed; unset it",
                    blocking));
  }
  PrepareEnvironment();
  return WithDevice("opening the GPUs", [&] { return std::make_shared<CudaBackend>(devices); });
}

}  // namespace emplace::cuda
