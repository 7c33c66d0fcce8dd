#include "agents/single_device/single_device.h"

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Devices gpu:0, cpu:0, gpu:1, cpu:1; ops: any device, CPUs only, gpu:1 only, GPUs only.
std::shared_ptr<const Problem> FourKindsOfOps() {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  builder.Device("gpu:1");
  builder.kind(builder.Device("cpu:1")).device_class = DeviceClass::kCpu;
  builder.AllToAll(1, kGigabytePerSecond);
  constexpr Nanos kNo = kMaxNanos;
  builder.Op("any", {1, 1, 1, 1});
  builder.Op("cpus", {kNo, 1, kNo, 1});
  builder.Op("second_gpu", {kNo, kNo, 1, kNo});
  builder.Op("gpus", {1, kNo, 1, kNo});
  return builder.Build();
}

std::vector<DeviceIndex> DevicesOf(const std::string& agent, const std::string& settings) {
  const auto problem = FourKindsOfOps();
  const auto made = AllAgents()
                        .Find(agent, "test")
                        .make({problem, 1}, ConfigNode::FromString(settings, "run.yaml"));
  return RunAgent(*made, problem, 10).best.placement.device;
}

TEST_CASE("all on the device, the rest on the other class, or else anywhere") {
  CHECK(DevicesOf("single_gpu", "{}") == std::vector<DeviceIndex>{0, 1, 2, 0});
  CHECK(DevicesOf("single_device", "{}") == std::vector<DeviceIndex>{0, 1, 2, 0});
  CHECK(DevicesOf("single_cpu", "{}") == std::vector<DeviceIndex>{1, 1, 2, 0});
  CHECK(DevicesOf("single_device", "{device: \"cpu:1\"}") == std::vector<DeviceIndex>{3, 3, 2, 0});
  CHECK(DevicesOf("single_device", "{device: \"gpu:1\"}") == std::vector<DeviceIndex>{2, 1, 2, 2});
}

TEST_CASE("ops of a network device are there, whatever the single device") {
  ProblemBuilder builder;
  builder.kind(builder.Device("net:0")).device_class = DeviceClass::kNetwork;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  builder.Device("gpu:0");
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("any", {kMaxNanos, 1, 1});
  builder.Op("sum", {1, kMaxNanos, kMaxNanos});
  builder.Op("gpu", {1, kMaxNanos, 1});
  const auto problem = builder.Build();
  CHECK(SingleDevicePlacement(*problem, 2).device == std::vector<DeviceIndex>{2, 0, 2});
  CHECK(SingleDevicePlacement(*problem, 1).device == std::vector<DeviceIndex>{1, 0, 2});
}

}  // namespace
