#include "framework/cluster/cluster_io.h"
#include "framework/cluster/device_kind_io.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/targets.h"

namespace emplace::fuzz {
namespace {

void ReadClusterText(const std::string& input) {
  static const std::map<std::string, DeviceKind> kLibrary = ParseDeviceKinds(ConfigNode::FromString(
      "{k80: {class: gpu, peak: {f32: 2.8TFLOP/s}, memory_bandwidth: 240GB/s, overhead: 8us},"
      " cpu: {class: cpu, peak: {f32: 1TFLOP/s}, memory_bandwidth: 60GB/s, overhead: 2us}}",
      "library"));
  const Cluster cluster = ParseCluster(ConfigNode::FromString(input, "fuzz.yaml"), kLibrary);
  const std::string text = FormatCluster(cluster);
  Promise(FormatCluster(ParseCluster(ConfigNode::FromString(text, "written.yaml"), {})) == text,
          "a cluster is written and reads back equal");
}

void ReadKindsText(const std::string& input) {
  const ConfigNode root = ConfigNode::FromString(input, "fuzz.yaml");
  std::string text = "device_kinds:\n";
  for (const auto& [name, kind] : ParseDeviceKinds(root.At("device_kinds"))) {
    text += FormatDeviceKind(kind);
  }
}

}  // namespace

constinit const FuzzTarget kClusterTarget =
    {"cluster", "a machine, YAML", ReadClusterText, MutateYaml, nullptr, 8192};
constinit const FuzzTarget kDeviceKindsTarget =
    {"device_kinds", "device kinds, YAML", ReadKindsText, MutateYaml, nullptr, 8192};

}  // namespace emplace::fuzz
