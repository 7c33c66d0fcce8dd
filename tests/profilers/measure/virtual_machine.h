#pragma once

// A machine of numbers with ops of real kinds: what a profiler should find out is known exactly.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/graph/graph.h"
#include "tests/profilers/virtual_backend.h"

namespace emplace::testing {

/// A random training-like graph of matrix products, sums and activations over a few shapes, with
/// parameters, views and control edges.
std::shared_ptr<const Graph> RandomMatrixGraph(Rng& rng, int num_ops, const std::string& name);

/// Time of an op from its kernels and shapes: 0 without work, else between 1 us and 50 us on
/// device class `cpu`, a quarter of it otherwise [ns]
Nanos InventedTime(const OpWork& work, bool is_cpu);

struct VirtualMachine {
  std::vector<BackendDevice> devices;
  std::vector<BackendLink> links;
  VirtualTimes times;

  /// Device kind "cpu" or "gpu" by the name. All links of a pair are of `memory`.
  void AddDevice(const std::string& name, std::int64_t memory = kUnlimitedMemory);
  void AddLink(int from, int to, const std::string& memory = "host");
  std::shared_ptr<Backend> Make() const { return MakeVirtualBackend(devices, links, times); }
};

/// Two CPU devices and `num_gpus` GPUs, with a link between every CPU and every device. Copies take
/// 500 ns and 1 ns per 2 B from a CPU, 300 ns and 1 ns per B from a GPU; devices idle for 7 ns
/// (CPU) or 40 ns (GPU) behind an op, channels for as long behind a copy from such a device.
VirtualMachine MakeVirtualMachine(int num_gpus);

/// Passes everything on, counts, and does what a test wants beside.
class ScriptedBackend : public Backend {
 public:
  explicit ScriptedBackend(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}

  /// Called before each sampler is made; may throw. Empty: nothing.
  std::function<void(int device, const OpWork& work)> on_op;
  std::function<void(int link, std::int64_t bytes)> on_copy;
  std::function<void(DispatchQuantity quantity)> on_dispatch;
  std::function<void()> on_load;
  std::function<double()> clock_mhz;           ///< of every device
  std::function<double(int device)> slowdown;  ///< of isolated ops
  std::map<std::string, std::string> properties{{"cpu", "virtual"}};
  int ops = 0, cold_ops = 0, copies = 0, loads = 0;  ///< calls; ops without the reference product

  static bool IsReferenceProduct(const OpWork& work);

  std::span<const BackendDevice> devices() const override { return inner_->devices(); }
  std::span<const BackendLink> links() const override { return inner_->links(); }
  std::map<std::string, std::string> Properties() const override { return properties; }
  std::vector<ClockReading> ReadClocks() override;
  std::unique_ptr<Program> Load(std::shared_ptr<const ExecutionPlan> plan,
                                DispatchMode mode) override;
  std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) override {
    return std::make_shared<ScriptedOp>(op, inner_->Prepare(op));
  }
  Sampler AloneSampler(std::shared_ptr<PreparedOp> op) override;
  std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                       std::shared_ptr<PreparedOp> beside) override {
    return inner_->BesideSampler(ScriptedOp::Of(timed).inner, ScriptedOp::Of(beside).inner);
  }
  Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside = {}) override;
  std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) override;

 private:
  struct ScriptedOp : PreparedOp {
    ScriptedOp(LoneOp op, std::shared_ptr<PreparedOp> inner)
        : op(std::move(op)), inner(std::move(inner)) {}
    static ScriptedOp& Of(const std::shared_ptr<PreparedOp>& op) {
      return dynamic_cast<ScriptedOp&>(*op);
    }
    LoneOp op;
    std::shared_ptr<PreparedOp> inner;
  };

  std::shared_ptr<Backend> inner_;
};

inline std::shared_ptr<const Graph> RandomMatrixGraph(Rng& rng,
                                                      int num_ops,
                                                      const std::string& name) {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  const auto new_tensor = [&](std::int64_t rows, std::int64_t columns, TensorRole role) {
    Tensor tensor;
    tensor.name = fmt::format("t{}", tensors.size());
    tensor.shape = {rows, columns};
    tensor.dtype = "f32";
    tensor.bytes = rows * columns * 4;
    tensor.role = role;
    tensors.push_back(tensor);
    return static_cast<int>(tensors.size()) - 1;
  };
  const auto new_op = [&](const std::string& kind, std::vector<int> inputs, int output) {
    Op op;
    op.name = fmt::format("{}_{}", kind, ops.size());
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    ops.push_back(op);
    return static_cast<int>(ops.size()) - 1;
  };
  constexpr int kSizes[] = {8, 12, 16, 24, 40};
  const auto size = [&] { return kSizes[UniformInt(rng, 5)]; };

  new_tensor(16, 16, TensorRole::kInput);
  for (int i = 0; i < 6; ++i) {
    new_op("parameter", {}, new_tensor(size(), size(), TensorRole::kParameter));
  }
  while (static_cast<int>(ops.size()) < num_ops) {
    const int a = UniformInt(rng, static_cast<int>(tensors.size()));
    const std::vector<std::int64_t> shape = tensors[a].shape;
    switch (UniformInt(rng, 5)) {
      case 0:
        new_op("aten.relu", {a}, new_tensor(shape[0], shape[1], TensorRole::kActivation));
        break;
      case 1: {
        std::vector<int> partners;
        for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
          if (tensors[t].shape == shape) partners.push_back(t);
        }
        const int b = partners[UniformInt(rng, static_cast<int>(partners.size()))];
        new_op("aten.add.Tensor", {a, b}, new_tensor(shape[0], shape[1], TensorRole::kActivation));
        break;
      }
      case 2: {
        const int view = new_tensor(shape[1], shape[0], TensorRole::kActivation);
        tensors[view].alias_of = a;
        new_op("aten.t.default", {a}, view);
        break;
      }
      default: {
        std::vector<int> partners;
        for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
          if (tensors[t].shape[0] == shape[1]) partners.push_back(t);
        }
        if (partners.empty()) break;
        const int b = partners[UniformInt(rng, static_cast<int>(partners.size()))];
        const std::int64_t columns = tensors[b].shape[1];
        const int op =
            new_op("aten.mm", {a, b}, new_tensor(shape[0], columns, TensorRole::kActivation));
        ops[op].flops = static_cast<double>(2 * shape[0] * shape[1] * columns);
        if (UniformInt(rng, 8) == 0) ops[op].control_inputs = {UniformInt(rng, op)};
      }
    }
  }
  return std::make_shared<const Graph>(name, tensors, ops);
}

inline Nanos InventedTime(const OpWork& work, bool is_cpu) {
  if (work.calls.empty()) return 0;
  // FNV-1a over what tells works apart and does not depend on where the inputs come from.
  std::uint64_t hash = 1469598103934665603u;
  const auto mix = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
  };
  for (const KernelCall& call : work.calls) {
    mix(static_cast<std::int64_t>(call.kind));
    for (const auto* arguments : {&call.inputs, &call.outputs}) {
      for (const Argument& argument : *arguments) {
        for (const std::int64_t extent : argument.view.shape) mix(extent);
      }
    }
  }
  const auto time = static_cast<Nanos>(1000 + (hash >> 20) % 49'000);
  return is_cpu ? time : time / 4;
}

inline void VirtualMachine::AddDevice(const std::string& name, std::int64_t memory) {
  BackendDevice device;
  device.name = name;
  device.kind.name = name.substr(0, name.find(':'));
  device.kind.device_class = device.kind.name == "cpu" ? DeviceClass::kCpu : DeviceClass::kGpu;
  device.memory = memory;
  device.description = "virtual " + device.kind.name;
  devices.push_back(std::move(device));
}

inline void VirtualMachine::AddLink(int from, int to, const std::string& memory) {
  links.push_back({from, to, memory});
}

inline VirtualMachine MakeVirtualMachine(int num_gpus) {
  VirtualMachine machine;
  machine.AddDevice("cpu:0");
  machine.AddDevice("cpu:1");
  for (int i = 0; i < num_gpus; ++i) machine.AddDevice(fmt::format("gpu:{}", i));
  const int count = static_cast<int>(machine.devices.size());
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from != to && (from < 2 || to < 2)) machine.AddLink(from, to);
    }
  }
  machine.times.op = [](int device, int, const OpWork& work) {
    return InventedTime(work, device < 2);
  };
  machine.times.gap = [](int device) { return device < 2 ? 7 : 40; };
  machine.times.copy = [count](const PlanCommand& command) {
    // The second hop of a copy starts in the staging area; it has come from a GPU's copy to a CPU
    // device and goes on to a GPU, over that CPU's channel.
    const bool from_cpu = command.source.device < 2;
    EMPLACE_CHECK(command.source.device < count);
    const Nanos setup = command.bytes == 0 ? 0 : from_cpu ? 500 : 300;
    const Nanos wire = setup + (from_cpu ? (command.bytes + 1) / 2 : command.bytes);
    return VirtualTimes::Copy{0, wire, from_cpu ? 7 : 40};
  };
  return machine;
}

inline bool ScriptedBackend::IsReferenceProduct(const OpWork& work) {
  return work.calls.size() == 1 && work.calls[0].kind == KernelKind::kMatmul &&
         work.calls[0].outputs[0].view.num_elements() == 256 * 256;
}

inline std::vector<ClockReading> ScriptedBackend::ReadClocks() {
  std::vector<ClockReading> clocks;
  for (const BackendDevice& device : devices()) {
    clocks.push_back({device.name, clock_mhz ? clock_mhz() : 1000, 40});
  }
  return clocks;
}

inline std::unique_ptr<Program> ScriptedBackend::Load(std::shared_ptr<const ExecutionPlan> plan,
                                                      DispatchMode mode) {
  ++loads;
  if (on_load) on_load();
  return inner_->Load(std::move(plan), mode);
}

inline Sampler ScriptedBackend::AloneSampler(std::shared_ptr<PreparedOp> prepared) {
  const ScriptedOp& scripted = ScriptedOp::Of(prepared);
  const LoneOp& op = scripted.op;
  const bool is_cold = op.cache == CacheState::kCold;
  if (!IsReferenceProduct(op.work)) (is_cold ? cold_ops : ops) += 1;
  if (on_op) on_op(op.device, op.work);
  const Sampler sampler = inner_->AloneSampler(scripted.inner);
  const double factor = (slowdown ? slowdown(op.device) : 1) * (is_cold ? 2.0 : 1.0);
  return [sampler, factor](int count, std::vector<double>& timings) {
    const size_t before = timings.size();
    sampler(count, timings);
    for (size_t i = before; i < timings.size(); ++i) timings[i] *= factor;
  };
}

inline Sampler ScriptedBackend::CopySampler(int link,
                                            std::int64_t bytes,
                                            std::optional<int> beside) {
  ++copies;
  if (on_copy) on_copy(link, bytes);
  return inner_->CopySampler(link, bytes, beside);
}

inline std::optional<Sampler> ScriptedBackend::DispatchSampler(int device,
                                                               DispatchQuantity quantity) {
  if (on_dispatch) on_dispatch(quantity);
  return inner_->DispatchSampler(device, quantity);
}

}  // namespace emplace::testing
