#include "profilers/cpu/cpu_program.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Counts its runs and fails when told to.
struct MoodyKernel : CpuKernel {
  void Run(void* const*, void* const*, void*) override {
    ++runs;
    if (fails) throw std::runtime_error("the kernel has had enough");
  }
  int runs = 0;
  bool fails = false;
};

std::shared_ptr<CpuMachine> Machine(int count) {
  std::vector<CpuGroup> groups;
  const auto cores = AllowedCores();
  for (int d = 0; d < std::min(count, static_cast<int>(cores.size())); ++d) {
    groups.push_back({fmt::format("cpu:{}", d), {cores[d]}});
  }
  return std::make_shared<CpuMachine>(groups);
}

KernelCall SomeCall() {
  const TensorView view = ContiguousView(DType::kF32, {4});
  return {.kind = KernelKind::kElementwise,
          .params = {.function = Function::kRelu},
          .inputs = {{false, 0, view}},
          .outputs = {{true, 0, view}}};
}

// "bad" on device 0, its output copied to the last device, "behind" there waiting for it.
std::shared_ptr<ExecutionPlan> TwoOps(int num_devices) {
  auto plan = std::make_shared<ExecutionPlan>();
  const int there = num_devices - 1;
  plan->num_devices = num_devices;
  plan->num_channels = 1;
  plan->arena_bytes.assign(num_devices, 1024);
  plan->commands.push_back({.stream = 0, .op = 0, .is_awaited = true});
  plan->commands.push_back({.type = PlanCommand::Type::kCopy,
                            .stream = num_devices,
                            .op = 0,
                            .tensor = 0,
                            .bytes = 16,
                            .layout = ContiguousView(DType::kF32, {4}),
                            .source = {0, 0},
                            .destinations = {{there, 512}},
                            .waits = {0},
                            .is_awaited = true});
  plan->commands.push_back({.stream = there, .op = 1, .waits = {1}});
  plan->ops.push_back({"bad", {{SomeCall()}}, {{0, 256}}, {{0, 0}}});
  plan->ops.push_back({"behind", {}, {{there, 512}}, {}});
  return plan;
}

TEST_CASE("a kernel that fails ends the step with op and device, and the next step may succeed") {
  const auto machine = Machine(2);
  // Prepared once, so that the program finds ours under the same call.
  CpuDevice& device = *machine->devices[0];
  device.Kernel(SomeCall(), 1);
  auto owned = std::make_unique<MoodyKernel>();
  MoodyKernel& kernel = *owned;
  REQUIRE(device.kernels.size() == 1);
  device.kernels.begin()->second = std::move(owned);

  const auto program = LoadCpuProgram(machine, TwoOps(static_cast<int>(machine->devices.size())));
  for (int round = 0; round < 50; ++round) {
    kernel.fails = true;
    REQUIRE(MessageOf<RunError>([&] { program->Step(round % 2 == 0); }) ==
            "op \"bad\" on device \"cpu:0\": the kernel has had enough");
    kernel.fails = false;
    REQUIRE(program->Step(round % 2 == 0).step_time > 0);
  }
  CHECK(kernel.runs == 100);
}

TEST_CASE("equal calls share a kernel, others do not") {
  const auto machine = Machine(1);
  CpuDevice& device = *machine->devices[0];
  CpuKernel* const relu = device.Kernel(SomeCall(), 1);
  CHECK(device.Kernel(SomeCall(), 1) == relu);
  const auto differs = [&](auto&& change) {
    KernelCall call = SomeCall();
    change(call);
    return device.Kernel(call, 1) != relu;
  };
  CHECK(differs([](KernelCall& c) { c.params.function = Function::kNeg; }));
  CHECK(differs([](KernelCall& c) { c.params.alpha = 1e-30; }));
  CHECK(differs([](KernelCall& c) { c.inputs[0].view.offset = 1; }));
  CHECK(differs([](KernelCall& c) { c.inputs[0].view.strides = {2}; }));
  CHECK(differs([](KernelCall& c) { c.inputs[0].index = 1; }));
  CHECK(differs([](KernelCall& c) { c.inputs[0].is_output = true; }));
  CHECK(device.kernels.size() == 7);
}

TEST_CASE("a copy moves the source's bytes, step after step") {
  const auto machine = Machine(2);
  auto plan = TwoOps(static_cast<int>(machine->devices.size()));
  plan->initial_values.push_back(
      {.address = {0, 256}, .bytes = 16, .fill = InitialValue::Fill::kScalar});
  const auto program = LoadCpuProgram(machine, plan);
  program->Step(false);
  const Address received = plan->commands[1].destinations[0];
  CHECK(program->ReadTensor(received, 16) == program->ReadTensor({0, 256}, 16));  // relu(1e-3)
  CHECK(program->ReadTensor(received, 16) != std::vector<std::byte>(16));
}

}  // namespace
