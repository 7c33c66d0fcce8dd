// Groups of cores and streams in one program: the streams are stand-ins (stand_in_streams.h), the
// cores are real.

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/cpu/core_queues.h"
#include "profilers/executor/command_queue.h"
#include "tests/profilers/relay_plan.h"
#include "tests/profilers/stand_in_streams.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr QueueKind kCoreKind = QueueKind::kCores, kStreamKind = QueueKind::kStream;

// A plan on devices of which some are groups of cores, the others stand-ins of GPUs.
class MixedProgram {
 public:
  /// @param prepare  called before kernels are prepared; may be empty
  MixedProgram(std::shared_ptr<const ExecutionPlan> plan,
               const std::vector<QueueKind>& kinds,
               DispatchMode mode,
               const std::function<void(CpuMachine&)>& prepare = {})
      : plan_(std::move(plan)) {
    const QueuePlan queues = PlanQueues(*plan_, kinds);
    std::vector<std::string> names;
    std::vector<CpuGroup> groups;
    std::vector<int> device_of_group;
    const std::vector<int> cores = AllowedCores();
    for (int d = 0; d < plan_->num_devices; ++d) {
      memory_.arenas.push_back(Take(plan_->arena_bytes[d]));
      const bool is_cpu = kinds[d] == kCoreKind;
      names.push_back(fmt::format("{}:{}", is_cpu ? "cpu" : "gpu", d));
      if (!is_cpu) continue;
      groups.push_back({names.back(), {cores[groups.size() % cores.size()]}});
      device_of_group.push_back(d);
    }
    memory_.staging = Take(plan_->staging_bytes);
    memory_.progress = std::make_shared<StepCounter[]>(queues.num_queues());
    std::vector<std::unique_ptr<QueueRunner>> runners;
    if (!groups.empty()) {
      const auto machine = std::make_shared<CpuMachine>(groups);
      if (prepare) prepare(*machine);
      runners.push_back(
          std::make_unique<CoreQueues>(machine, device_of_group, plan_, queues, memory_));
    }
    for (const InitialValue& value : plan_->initial_values) {
      if (kinds[value.address.device] == kStreamKind) {
        std::ranges::copy(InitialBytes(value), memory_.At(value.address));
      }
    }
    if (std::ranges::find(kinds, kStreamKind) != kinds.end()) {
      behaviour.run = [this](int command) { RunOnStream(command); };
      behaviour.find = [this, kinds](const Address& a) {
        return kinds[a.device] == kStreamKind ? memory_.At(a) : nullptr;
      };
      runners.push_back(std::make_unique<StreamQueues>(
          plan_,
          queues,
          names,
          std::make_unique<StandInStreams>(queues.num_queues(), behaviour),
          memory_.progress,
          std::make_shared<StepCounter[]>(1 + queues.num_queues()),
          mode));
    }
    program_ = std::make_unique<QueueProgram>(plan_, memory_, std::move(runners));
  }

  Program* operator->() { return program_.get(); }

  StandInStreams::Behaviour behaviour;

 private:
  static std::shared_ptr<std::byte> Take(std::int64_t bytes) {
    const auto memory = std::make_shared<ReservedMemory>(bytes + 1);
    return {memory, memory->data()};
  }

  void RunOnStream(int index) {
    const PlanCommand& command = plan_->commands[index];
    if (command.type == PlanCommand::Type::kCopy) {
      const PackedCopy copy(command.layout);
      for (const Address& to : command.destinations) {
        copy.Copy(memory_.At(command.source), memory_.At(to));
      }
      return;
    }
    const CompiledOp& op = plan_->ops[command.op];
    std::vector<void*> inputs, outputs;
    for (const Address& address : op.inputs) inputs.push_back(memory_.At(address));
    for (const Address& address : op.outputs) outputs.push_back(memory_.At(address));
    for (const KernelCall& call : op.work.calls) {
      const auto kernel = PrepareCpuKernel(call, /*threads=*/1);
      ReservedMemory scratch(kernel->scratch_bytes() + 1);
      kernel->Run(inputs.data(), outputs.data(), scratch.data());
    }
  }

  std::shared_ptr<const ExecutionPlan> plan_;
  ProgramMemory memory_;
  std::unique_ptr<Program> program_;
};

std::vector<float> RelayFloats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// As many groups of cores as there are cores; the rest of the devices are streams.
std::vector<std::vector<QueueKind>> Mixtures() {
  std::vector<std::vector<QueueKind>> mixtures = {{kCoreKind},
                                                  {kStreamKind},
                                                  {kStreamKind, kStreamKind},
                                                  {kStreamKind, kCoreKind},
                                                  {kCoreKind, kStreamKind},
                                                  {kStreamKind, kCoreKind, kStreamKind}};
  if (AllowedCores().size() > 1) {
    mixtures.push_back({kCoreKind, kCoreKind});
    mixtures.push_back({kCoreKind, kCoreKind, kStreamKind});
    mixtures.push_back({kStreamKind, kCoreKind, kStreamKind, kCoreKind});
  }
  return mixtures;
}

TEST_CASE("a value passes right through any mixture of cores and streams, in both modes") {
  constexpr std::int64_t kRows = 24, kColumns = 17;
  for (const std::vector<QueueKind>& kinds : Mixtures()) {
    const int num_devices = static_cast<int>(kinds.size());
    const RelayPlan relay = MakeRelayPlan(num_devices, 6 * num_devices + 1, kRows, kColumns);
    const auto x = RelayFloats(InitialBytes(relay.plan->initial_values[0]));
    const std::vector<float> expected = RelayResult(relay, x, kRows, kColumns);
    for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
      MixedProgram program(relay.plan, kinds, mode);
      for (int step = 0; step < 6; ++step) {
        CAPTURE(num_devices);
        CAPTURE(step);
        const bool traced = step % 3 == 2;
        const StepRecord record = program->Step(traced);
        REQUIRE(record.step_time > 0);
        REQUIRE(RelayFloats(program->ReadTensor(relay.result, relay.elements * 4)) == expected);
        if (!traced) continue;
        const auto& commands = relay.plan->commands;
        REQUIRE(record.start.size() == commands.size());
        for (size_t c = 0; c < commands.size(); ++c) {
          REQUIRE(record.start[c] <= record.finish[c]);
          // What runs on cores is timed from the start, what runs on streams from the latch.
          for (int wait : commands[c].waits) {
            REQUIRE(record.finish[wait] <= record.start[c] + 20'000'000);
          }
        }
      }
    }
  }
}

// Does what the kernel that it stands for does, and fails when told to.
struct FailingKernel : CpuKernel {
  FailingKernel(std::unique_ptr<CpuKernel> k, const bool& f) : kernel(std::move(k)), fails(f) {}
  void Run(void* const* inputs, void* const* outputs, void* scratch) override {
    if (fails) throw std::runtime_error("enough");
    kernel->Run(inputs, outputs, scratch);
  }
  std::unique_ptr<CpuKernel> kernel;
  const bool& fails;
};

TEST_CASE("cores that fail release the streams that wait for them, and the next step may succeed") {
  const RelayPlan relay = MakeRelayPlan(2, 9, 16, 8);
  const auto x = RelayFloats(InitialBytes(relay.plan->initial_values[0]));
  const std::vector<float> expected = RelayResult(relay, x, 16, 8);
  bool fails = false;
  const auto make_fail = [&](CpuMachine& machine) {
    CpuDevice& device = *machine.devices[0];
    for (const CompiledOp& op : relay.plan->ops) device.Kernel(op.work.calls[0], 1);
    for (auto& [key, kernel] : device.kernels) {
      kernel = std::make_unique<FailingKernel>(std::move(kernel), fails);
    }
  };
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    for (const bool cores_first : {true, false}) {
      const auto kinds =
          cores_first ? std::vector{kCoreKind, kStreamKind} : std::vector{kStreamKind, kCoreKind};
      MixedProgram program(relay.plan, kinds, mode, make_fail);
      for (int round = 0; round < 5; ++round) {
        fails = true;
        // The first op on the cores: leg 0 on device 0, leg 1 on device 1.
        const std::string message = MessageOf<RunError>([&] { program->Step(round % 2 == 0); });
        REQUIRE(message ==
                fmt::format("op \"\" on device \"cpu:{}\": enough", cores_first ? 0 : 1));
        fails = false;
        program->Step(round % 2 == 0);
        REQUIRE(RelayFloats(program->ReadTensor(relay.result, relay.elements * 4)) == expected);
      }
    }
  }
}

TEST_CASE("a GPU that fails releases the cores that wait for it") {
  const RelayPlan relay = MakeRelayPlan(2, 9, 16, 8);
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    for (const bool cores_first : {true, false}) {
      const auto kinds =
          cores_first ? std::vector{kCoreKind, kStreamKind} : std::vector{kStreamKind, kCoreKind};
      MixedProgram program(relay.plan, kinds, mode);
      program->Step(false);
      program.behaviour.fatal = cores_first ? 5 : 4;  // some command on a stream
      CHECK(MessageOf<RunError>([&] { program->Step(false); }) == "the streams have failed");
      CHECK(MessageOf<RunError>([&] { program->Step(false); }) ==
            "the devices of this program failed earlier");
    }
  }
}

}  // namespace
