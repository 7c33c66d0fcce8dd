#include "profilers/cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_machine.h"
#include "profilers/cpu/cpu_program.h"
#include "profilers/cpu/packed_copy.h"
#include "profilers/executor/initial_values.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

double NanosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Sets a flag at the end of a scope, so that a worker that waits for it resumes if the other one
// throws.
struct SetAtEnd {
  std::atomic<bool>& flag;
  ~SetAtEnd() { flag.store(true); }
};

// Shorter runs are timed several at a time [ns].
constexpr double kShortestTiming = 20'000;

// An op with its memory, on its own worker. Warm: the op runs repeatedly. If it takes less than
// kShortestTiming, a timing is the mean of several runs in a row, because the clock is too coarse
// for a single run. Cold: a timing is a single run, after a walk over memory of twice the
// last-level cache.
class OpBench : public PreparedOp {
 public:
  OpBench(std::shared_ptr<CpuMachine> machine, const LoneOp& op)
      : machine_(std::move(machine)), device_(op.device), cache_(op.cache) {
    machine_->workers.RunOn(device_, [&] { Prepare(op); });
  }

  // Takes warm timings while `other` runs on its own device.
  void SampleBeside(OpBench& other, int count, std::vector<double>& timings) {
    std::atomic<bool> has_begun{false}, is_over{false};
    machine_->workers.RunOnAll([&](int worker) {
      if (worker == device_) {
        const SetAtEnd mark{is_over};
        SpinWait spin;
        while (!has_begun.load()) spin.Turn();
        for (int i = 0; i < count; ++i) timings.push_back(TimeWarm());
      } else if (worker == other.device_) {
        const SetAtEnd mark{has_begun};
        while (!is_over.load()) {
          other.Run();
          has_begun.store(true);
        }
      }
    });
  }

  void Sample(int count, std::vector<double>& timings) {
    machine_->workers.RunOn(device_, [&] {
      for (int i = 0; i < count; ++i) {
        timings.push_back(cache_ == CacheState::kCold ? TimeCold() : TimeWarm());
      }
    });
  }

 private:
  void Prepare(const LoneOp& op) {
    for (const KernelCall& call : op.work.calls) {
      kernels_.push_back(machine_->devices[device_]->Kernel(
          call, static_cast<int>(machine_->groups[device_].cores.size())));
    }
    const OpMemory values = MemoryOf(op.work, op.input_bytes, op.output_bytes);
    const auto padded = [](const InitialValue& value) {
      return (value.bytes + kArenaAlignment) / kArenaAlignment * kArenaAlignment;
    };
    std::int64_t total = 0;
    for (const auto* side : {&values.inputs, &values.outputs}) {
      for (const InitialValue& value : *side) total += padded(value);
    }
    memory_ = std::make_unique<ReservedMemory>(total);
    memory_->Touch(total);
    std::byte* next = memory_->data();
    const auto take = [&](const std::vector<InitialValue>& side, std::vector<void*>& pointers) {
      for (const InitialValue& value : side) {
        std::ranges::copy(InitialBytes(value), next);
        pointers.push_back(next);
        next += padded(value);
      }
    };
    take(values.inputs, inputs_);
    take(values.outputs, outputs_);
    if (cache_ == CacheState::kCold) {
      flush_ = std::make_unique<ReservedMemory>(2 * LastLevelCacheBytes());
      flush_->Touch(flush_->size());
    }
    Run();  // libraries allocate memory in their first call
    const auto start = Clock::now();
    Run();
    const double once = std::max(NanosSince(start), 1.0);
    batch_ = std::clamp(static_cast<int>(kShortestTiming / once), 1, 1000);
  }

  void Run() {
    const auto& scratch = machine_->devices[device_]->scratch;
    for (CpuKernel* kernel : kernels_) {
      kernel->Run(inputs_.data(), outputs_.data(), scratch ? scratch->data() : nullptr);
    }
  }

  double TimeWarm() {
    const auto start = Clock::now();
    for (int i = 0; i < batch_; ++i) Run();
    return NanosSince(start) / batch_;
  }

  double TimeCold() {
    for (std::int64_t i = 0; i < flush_->size(); i += 64) {
      flush_->data()[i] ^= std::byte{1};
    }
    const auto start = Clock::now();
    Run();
    return NanosSince(start);
  }

  std::shared_ptr<CpuMachine> machine_;
  const int device_;
  const CacheState cache_;
  std::vector<CpuKernel*> kernels_;
  std::unique_ptr<ReservedMemory> memory_, flush_;
  std::vector<void*> inputs_, outputs_;
  int batch_ = 1;
};

// A source in one group's memory and a destination in another's.
struct LinkBuffers {
  LinkBuffers(CpuMachine& machine, const BackendLink& link, std::int64_t size)
      : bytes(size), source(size), destination(size), copy(ContiguousView(DType::kBool, {size})) {
    machine.workers.RunOnAll([&](int worker) {
      if (worker == link.from) source.Touch(size);
      if (worker == link.to) destination.Touch(size);
    });
  }

  void Copy() { copy.Copy(source.data(), destination.data()); }
  void Read() {
    for (std::int64_t at = 0; at < bytes; at += 64) {
      seen += std::to_integer<int>(static_cast<const volatile std::byte&>(destination.data()[at]));
    }
  }

  std::int64_t bytes;
  ReservedMemory source, destination;
  PackedCopy copy;
  int seen = 0;  // keeps the reads from being optimised away
};

class CopyBench {
 public:
  CopyBench(std::shared_ptr<CpuMachine> machine,
            const BackendLink& link,
            std::int64_t bytes,
            const BackendLink* beside)
      : machine_(std::move(machine)), link_(link), buffers_(*machine_, link, bytes) {
    if (beside == nullptr) return;
    // Copies that exceed the caches.
    beside_ =
        std::make_unique<LinkBuffers>(*machine_, *beside, std::max(bytes, std::int64_t{4} << 20));
    for (int worker : {beside->from, beside->to, link_.to}) {
      if (worker != link_.from && beside_worker_ < 0) beside_worker_ = worker;
    }
  }

  // The source's worker writes and copies, as in a step; the destination's worker reads the copy.
  void Sample(int count, std::vector<double>& timings) {
    const bool reads = beside_worker_ != link_.to;
    std::atomic<int> turn{0};  // 2 i: to be copied, 2 i + 1: to be read
    std::atomic<bool> busy{beside_ == nullptr}, over{false};
    machine_->workers.RunOnAll([&](int worker) {
      SpinWait spin;
      if (worker == link_.from) {
        while (!busy.load()) spin.Turn();
        for (int i = 0; i < count; ++i) {
          while (reads && turn.load() != 2 * i) spin.Turn();
          std::memset(buffers_.source.data(), i, static_cast<size_t>(buffers_.bytes));
          const auto start = Clock::now();
          buffers_.Copy();
          timings.push_back(NanosSince(start));
          turn.store(2 * i + 1);
        }
        over.store(true);
      } else if (worker == beside_worker_) {
        while (!over.load()) {
          beside_->Copy();
          busy.store(true);
        }
      } else if (worker == link_.to) {
        for (int i = 0; i < count; ++i) {
          while (turn.load() != 2 * i + 1) spin.Turn();
          buffers_.Read();
          turn.store(2 * i + 2);
        }
      }
    });
  }

 private:
  std::shared_ptr<CpuMachine> machine_;
  const BackendLink link_;
  LinkBuffers buffers_;
  std::unique_ptr<LinkBuffers> beside_;
  int beside_worker_ = -1;
};

// Returns a plan of `count` empty ops, op i on device_of(i). Each waits for the previous op if that
// runs on another device.
std::shared_ptr<const ExecutionPlan> EmptyOps(const CpuMachine& machine,
                                              int count,
                                              const std::function<int(int)>& device_of) {
  auto plan = std::make_shared<ExecutionPlan>();
  plan->num_devices = static_cast<int>(machine.devices.size());
  plan->arena_bytes.assign(plan->num_devices, 0);
  plan->ops.resize(count);
  for (int i = 0; i < count; ++i) {
    plan->commands.push_back({.stream = device_of(i), .op = i});
    if (i == 0 || device_of(i - 1) == device_of(i)) continue;
    plan->commands[i].waits = {i - 1};
    plan->commands[i - 1].is_awaited = true;
  }
  return plan;
}

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
      throw InputError("dispatch mode eager: CPU devices run command lists; expected mode graph");
    }
    return LoadCpuProgram(machine_, std::move(plan));
  }

  std::shared_ptr<PreparedOp> Prepare(const LoneOp& op) override {
    return std::make_shared<OpBench>(machine_, op);
  }

  Sampler AloneSampler(std::shared_ptr<PreparedOp> op) override {
    return SamplerOf(std::dynamic_pointer_cast<OpBench>(std::move(op)));
  }

  std::optional<Sampler> BesideSampler(std::shared_ptr<PreparedOp> timed,
                                       std::shared_ptr<PreparedOp> beside) override {
    return [victim = std::dynamic_pointer_cast<OpBench>(std::move(timed)),
            aggressor = std::dynamic_pointer_cast<OpBench>(std::move(beside))](
               int count, std::vector<double>& timings) {
      victim->SampleBeside(*aggressor, count, timings);
    };
  }

  // The source's core copies data that it has just written, as in a step.
  Sampler CopySampler(int link, std::int64_t bytes, std::optional<int> beside) override {
    return SamplerOf(std::make_shared<CopyBench>(
        machine_, links_.at(link), bytes, beside ? &links_.at(*beside) : nullptr));
  }

  // kNullKernel: an empty command of a long list. kWait: the additional time of a command that
  // waits for a command of another worker; nullopt if there is only one device. The other
  // quantities are nullopt, because workers have their own lists and no thread issues commands to
  // them.
  std::optional<Sampler> DispatchSampler(int device, DispatchQuantity quantity) override {
    constexpr int kOps = 1000;
    const int num_devices = static_cast<int>(machine_->devices.size());
    const std::shared_ptr<Program> alone =
        LoadCpuProgram(machine_, EmptyOps(*machine_, kOps, [device](int) { return device; }));
    const auto null_op = [alone] {
      return static_cast<double>(alone->Step(false).step_time) / kOps;
    };
    if (quantity == DispatchQuantity::kNullKernel) {
      return [null_op](int count, std::vector<double>& timings) {
        for (int i = 0; i < count; ++i) timings.push_back(null_op());
      };
    }
    if (quantity != DispatchQuantity::kWait || num_devices < 2) return std::nullopt;
    const int other = (device + 1) % num_devices;
    const std::shared_ptr<Program> in_turns = LoadCpuProgram(
        machine_, EmptyOps(*machine_, kOps, [=](int i) { return i % 2 ? device : other; }));
    return [null_op, in_turns](int count, std::vector<double>& timings) {
      for (int i = 0; i < count; ++i) {
        const double turn = static_cast<double>(in_turns->Step(false).step_time) / kOps;
        timings.push_back(std::max(0.0, turn - null_op()));
      }
    };
  }

 private:
  // Samplers keep their benches and the machine alive.
  template <class Bench>
  static Sampler SamplerOf(std::shared_ptr<Bench> bench) {
    return [bench](int count, std::vector<double>& timings) { bench->Sample(count, timings); };
  }

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
      throw InputError(
          fmt::format("core {} belongs to devices \"{}\" and \"{}\"; expected one device",
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
