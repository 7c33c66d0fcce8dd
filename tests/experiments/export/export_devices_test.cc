#include "experiments/export/export_devices.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "tests/experiments/export/export_graph.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr NamingFramework kTensorFlow = NamingFramework::kTensorFlow,
                          kTorch = NamingFramework::kTorch;

std::shared_ptr<const Cluster> Named(const std::vector<std::string>& names) {
  std::vector<Device> devices;
  for (const std::string& name : names) devices.push_back({.name = name, .kind = 0});
  return std::make_shared<const Cluster>(
      "box",
      std::vector<DeviceKind>{{.name = "g"}},
      devices,
      std::vector<Channel>{},
      std::vector<std::vector<int>>(names.size() * names.size()));
}

TEST_CASE("names by rule, of used devices only") {
  const auto cluster = Named({"cpu:0", "gpu:0", "gpu:13", "tpu"});
  CHECK(NameDevices(*cluster, {0, 2, 2}, kTensorFlow, {}) ==
        std::vector<Json>{"/job:localhost/replica:0/task:0/device:CPU:0",
                          nullptr,
                          "/job:localhost/replica:0/task:0/device:GPU:13",
                          nullptr});
  CHECK(NameDevices(*cluster, {0, 1, 2}, kTorch, {}) == std::vector<Json>{"cpu", 0, 13, nullptr});
}

TEST_CASE("names that are told come first") {
  const auto cluster = Named({"gpu:0", "tpu"});
  const auto tensorflow = ParseDeviceNames(
      {"gpu:0=/device:GPU:2", "tpu=/job:w/task:1/device:TPU:0"}, *cluster, kTensorFlow);
  CHECK(NameDevices(*cluster, {0, 1}, kTensorFlow, tensorflow) ==
        std::vector<Json>{"/device:GPU:2", "/job:w/task:1/device:TPU:0"});
  const auto torch = ParseDeviceNames({"gpu:0=2", "tpu=xla:0"}, *cluster, kTorch);
  CHECK(NameDevices(*cluster, {0, 1}, kTorch, torch) == std::vector<Json>{2, "xla:0"});
}

TEST_CASE("a used device without a name is refused") {
  const auto cluster = Named({"gpu:0", "tpu"});
  CHECK_THROWS_WITH_AS(
      NameDevices(*cluster, {0, 1}, kTorch, {}),
      "device \"tpu\" of cluster \"box\" has no name in PyTorch (only cpu:N and gpu:N have); give "
      "one with --device-map tpu=NAME, NAME a GPU's number, or a device such as cpu or cuda:1",
      InputError);
}

TEST_CASE("names that are no names") {
  const auto cluster = Named({"gpu:0", "gpu:1"});
  const auto refused =
      [&](const std::vector<std::string>& texts, NamingFramework framework, const char* message) {
        CHECK_THROWS_WITH_AS(ParseDeviceNames(texts, *cluster, framework), message, InputError);
      };
  refused({"gpu:0"},
          kTorch,
          "--device-map: \"gpu:0\" has no '='; expected DEVICE=NAME, NAME a GPU's number, or a "
          "device such as cpu or cuda:1");
  refused({"gpu:7=1"},
          kTorch,
          "--device-map: unknown device \"gpu:7\"; did you mean \"gpu:0\"? choices: gpu:0, gpu:1");
  refused({"gpu:0=GPU:1"},
          kTensorFlow,
          "--device-map: gpu:0: \"GPU:1\" is not a device of TensorFlow; expected a device string "
          "such as /device:GPU:2");
  refused({"gpu:0=/device:GPU:1"},
          kTorch,
          "--device-map: gpu:0: \"/device:GPU:1\" is not a device of PyTorch; expected a GPU's "
          "number, or a device such as cpu or cuda:1");
  refused({"gpu:0=1", "gpu:0=2"}, kTorch, "--device-map: device \"gpu:0\" is named twice");
}

}  // namespace
