#include "profilers/cuda/cuda_backend.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

#include "framework/base/error.h"
#include "tests/profilers/cuda/gpu_guard.h"
#include "tests/profilers/relay_plan.h"

using namespace emplace;

namespace {

std::vector<float> AsFloats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string ErrorOf(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

/// Runs the relay over a backend's devices and compares it with plain loops, bit by bit.
void CheckRelay(Backend& backend, DispatchMode mode, std::int64_t rows, std::int64_t columns) {
  const int num_devices = static_cast<int>(backend.devices().size());
  const RelayPlan relay = MakeRelayPlan(num_devices, 6 * num_devices + 1, rows, columns);
  const std::vector<float> x = AsFloats(InitialBytes(relay.plan->initial_values[0]));
  const std::vector<float> expected = RelayResult(relay, x, rows, columns);
  const auto program = backend.Load(relay.plan, mode);
  for (int step = 0; step < 6; ++step) {
    const bool traced = step % 3 == 2;
    CAPTURE(step);
    const StepRecord record = program->Step(traced);
    CHECK(record.step_time > 0);
    const std::vector<float> result =
        AsFloats(program->ReadTensor(relay.result, relay.elements * 4));
    CHECK(result == expected);
    if (!traced) continue;
    const auto& commands = relay.plan->commands;
    REQUIRE(record.start.size() == commands.size());
    REQUIRE(record.finish.size() == commands.size());
    for (size_t i = 0; i < commands.size(); ++i) {
      CAPTURE(i);
      CHECK(record.start[i] <= record.finish[i]);
      // Clocks of GPU and host agree to some microseconds.
      for (int wait : commands[i].waits) CHECK(record.finish[wait] <= record.start[i] + 50000);
    }
  }
  CHECK_THROWS_AS(program->ReadTensor({0, 0}, std::int64_t{1} << 60), InputError);
}

void CheckSamplers(Backend& backend) {
  const auto check = [](const Sampler& sampler, bool may_be_zero) {
    std::vector<double> timings;
    sampler(3, timings);
    REQUIRE(timings.size() == 3);
    for (double nanos : timings) {
      CHECK(std::isfinite(nanos));
      CHECK((may_be_zero ? nanos >= 0 : nanos > 0));
    }
  };
  const RelayPlan relay = MakeRelayPlan(1, 2, 64, 48);
  const std::vector<std::int64_t> inputs = {64 * 48 * 4, 64 * 48 * 4}, outputs = {64 * 48 * 4};
  for (int d = 0; d < static_cast<int>(backend.devices().size()); ++d) {
    CAPTURE(backend.devices()[d].name);
    for (CacheState cache : {CacheState::kWarm, CacheState::kCold}) {
      const auto op = backend.Prepare({d, relay.plan->ops[1].work, inputs, outputs, cache});
      check(backend.AloneSampler(op), false);
    }
    for (DispatchQuantity quantity : {DispatchQuantity::kNullKernel,
                                      DispatchQuantity::kLaunch,
                                      DispatchQuantity::kIssue,
                                      DispatchQuantity::kGraphLaunch,
                                      DispatchQuantity::kWait}) {
      const auto sampler = backend.DispatchSampler(d, quantity);
      if (sampler) check(*sampler, true);
    }
  }
  for (int link = 0; link < static_cast<int>(backend.links().size()); ++link) {
    for (std::int64_t bytes : {std::int64_t{1}, std::int64_t{1} << 22}) {
      check(backend.CopySampler(link, bytes), false);
    }
    check(backend.CopySampler(link, 1 << 20, (link + 1) % backend.links().size()), false);
  }
}

TEST_CASE("a GPU that is not there is an input error") {
  const int absent = static_cast<int>(cuda::QueryGpus().gpus.size());
  const std::vector<DeviceSpec> devices = {GpuDeviceSpec{"gpu:99", absent, 0}};
  CHECK(ErrorOf([&] { cuda::MakeCudaBackend(devices); }) ==
        "gpu:99: this machine has " + std::to_string(absent) + " GPUs");
}

TEST_CASE("an environment in which launches block is refused") {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const std::string error = ErrorOf([] { cuda::MakeCudaBackend({GpuDeviceSpec{"gpu:0", 0, 0}}); });
  unsetenv("CUDA_LAUNCH_BLOCKING");
  CHECK(error.find("the environment sets CUDA_LAUNCH_BLOCKING=1, so") == 0);
}

TEST_CASE("the relay that GPUs are tested with is right on groups of cores") {
  const std::vector<int> cores = AllowedCores();
  std::vector<CpuGroup> groups = {{"cpu:0", {cores[0]}}};
  if (cores.size() > 1) groups.push_back({"cpu:1", {cores[1]}});
  const auto backend = MakeCpuBackend(groups);
  CheckRelay(*backend, DispatchMode::kGraph, 48, 33);
}

TEST_CASE("GPU: a relay on one whole GPU, eager and as a graph") {
  if (!GpuIsThere()) return;
  const auto backend = cuda::MakeCudaBackend({GpuDeviceSpec{"gpu:0", 0, 0}});
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    CheckRelay(*backend, mode, 48, 33);
    CheckRelay(*backend, mode, 1024, 700);
  }
  CheckSamplers(*backend);
}

TEST_CASE("GPU: a relay between GPU and CPU, eager and as a graph") {
  if (!GpuIsThere()) return;
  for (const bool cpu_first : {false, true}) {
    std::vector<DeviceSpec> devices = {GpuDeviceSpec{"gpu:0", 0, 0},
                                       CpuGroup{"cpu:0", {AllowedCores().front()}}};
    if (cpu_first) std::swap(devices[0], devices[1]);
    const auto backend = cuda::MakeCudaBackend(devices);
    REQUIRE(backend->devices().size() == 2);
    CHECK(backend->devices()[0].name == (cpu_first ? "cpu:0" : "gpu:0"));
    for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
      CAPTURE(static_cast<int>(mode));
      CheckRelay(*backend, mode, 48, 33);
      CheckRelay(*backend, mode, 512, 300);
    }
    CheckSamplers(*backend);
  }
}

TEST_CASE("GPU: a relay between partitions, eager and as a graph") {
  if (!GpuIsThere()) return;
  if (cuda::QueryGpus().gpus[0].compute_major < 9 || cuda::QueryGpus().gpus[0].sm_count < 64) {
    MESSAGE("skipped: partitions of 32, 16 and 8 SMs are for larger GPUs");
    return;
  }
  const auto backend = cuda::MakeCudaBackend({GpuDeviceSpec{"gpu:0.0", 0, 32},
                                              GpuDeviceSpec{"gpu:0.1", 0, 16},
                                              GpuDeviceSpec{"gpu:0.2", 0, 8},
                                              CpuGroup{"cpu:0", {AllowedCores().front()}}});
  std::set<std::string> kinds;
  for (const BackendDevice& device : backend->devices()) kinds.insert(device.kind.name);
  CHECK(kinds.size() == 4);
  for (DispatchMode mode : {DispatchMode::kEager, DispatchMode::kGraph}) {
    CAPTURE(static_cast<int>(mode));
    CheckRelay(*backend, mode, 48, 33);
    CheckRelay(*backend, mode, 512, 300);
  }
}

TEST_CASE("GPU: programs share a backend; each Load starts from initial values") {
  if (!GpuIsThere()) return;
  const auto backend = cuda::MakeCudaBackend({GpuDeviceSpec{"gpu:0", 0, 0}});
  const RelayPlan small = MakeRelayPlan(1, 3, 16, 16), large = MakeRelayPlan(1, 9, 512, 512);
  const auto first = backend->Load(small.plan, DispatchMode::kGraph);
  const auto second = backend->Load(large.plan, DispatchMode::kEager);  // the arena grows
  const auto third = backend->Load(small.plan, DispatchMode::kEager);
  const std::vector<float> x = AsFloats(InitialBytes(small.plan->initial_values[0]));
  second->Step(false);
  third->Step(false);
  CHECK(AsFloats(third->ReadTensor(small.result, small.elements * 4)) ==
        RelayResult(small, x, 16, 16));
  first->Step(false);
  CHECK(AsFloats(first->ReadTensor(small.result, small.elements * 4)) ==
        RelayResult(small, x, 16, 16));
}

TEST_CASE("GPU: memory that is not to be had is said with device and bytes") {
  if (!GpuIsThere()) return;
  const auto backend = cuda::MakeCudaBackend({GpuDeviceSpec{"gpu:0", 0, 0}});
  const auto plan = std::make_shared<ExecutionPlan>();
  plan->num_devices = 1;
  plan->arena_bytes = plan->peak_bytes = {std::int64_t{1} << 50};
  const std::string error = ErrorOf([&] { backend->Load(plan, DispatchMode::kEager); });
  CHECK(error.find("gpu:0: cannot allocate 1125899906842624 bytes of GPU memory") == 0);
  // And the GPU goes on.
  CheckRelay(*backend, DispatchMode::kEager, 48, 33);
}

TEST_CASE("GPU: a backend describes its devices, links, clocks and libraries") {
  if (!GpuIsThere()) return;
  const auto backend = cuda::MakeCudaBackend(
      {GpuDeviceSpec{"gpu:0", 0, 0}, CpuGroup{"cpu:0", {AllowedCores().front()}}});
  const auto devices = backend->devices();
  CHECK(devices[0].kind.device_class == DeviceClass::kGpu);
  CHECK(devices[0].kind.name.find("sm") != std::string::npos);
  CHECK(devices[0].memory > (std::int64_t{1} << 28));
  CHECK(devices[1].kind.device_class == DeviceClass::kCpu);
  REQUIRE(backend->links().size() == 2);
  for (const BackendLink& link : backend->links()) CHECK(link.memory == "pinned");
  for (const char* key : {"gpu", "driver", "cuda", "cuda_libraries", "cpu"}) {
    CAPTURE(key);
    CHECK(!backend->Properties()[key].empty());
  }
  CHECK(backend->ReadClocks().size() >= 1);
  CHECK(backend->ReadClocks()[0].device == "gpu:0");
}

}  // namespace
