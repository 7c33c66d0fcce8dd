#include "framework/cost/allowed_devices.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

using Names = std::vector<std::string>;

Cluster ReadCluster(const std::string& text) {
  return ParseCluster(ConfigNode::FromString(text, "c"), {});
}

const Cluster& Pair() {
  static const Cluster cluster = ReadCluster(
      "name: pair\n"
      "device_kinds: {fast: {class: gpu}, slow: {class: cpu}}\n"
      "devices: [{name: f0, kind: fast}, {name: s0, kind: slow}, {name: f1, kind: fast}]\n");
  return cluster;
}

Op RestrictedOp(const Names& kinds, const Names& devices) {
  Op op;
  op.name = "conv1";
  op.kind = "Conv2D";
  op.device_kinds = kinds;
  op.devices = devices;
  return op;
}

// Returns the names of the devices that an op may run on, with spaces.
std::string Allowed(const Cluster& cluster, const Names& kinds, const Names& devices) {
  const Graph graph("g", {}, {RestrictedOp(kinds, devices)});
  const std::uint64_t allowed = AllowedDevices(graph, cluster, "costs").Of(graph.op(0));
  std::string names;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if ((allowed >> d & 1) == 0) continue;
    names += (names.empty() ? "" : " ") + cluster.device(d).name;
  }
  return names;
}

TEST_CASE("device_kinds take class names and kind names") {
  CHECK(Allowed(Pair(), {}, {}) == "f0 s0 f1");
  CHECK(Allowed(Pair(), {"cpu"}, {}) == "s0");
  CHECK(Allowed(Pair(), {"fast", "tpu"}, {}) == "f0 f1");
}

TEST_CASE("devices take names and patterns, and hold together with device_kinds") {
  CHECK(Allowed(Pair(), {}, {"f1"}) == "f1");
  CHECK(Allowed(Pair(), {}, {"f?"}) == "f0 f1");
  CHECK(Allowed(Pair(), {}, {"*0"}) == "f0 s0");
  CHECK(Allowed(Pair(), {}, {"s0", "f1"}) == "s0 f1");
  CHECK(Allowed(Pair(), {"gpu"}, {"*0"}) == "f0");
  CHECK(Allowed(Pair(), {"slow", "fast"}, {"*"}) == "f0 s0 f1");
}

TEST_CASE("ops of one graph with other restrictions have other devices") {
  std::vector<Op> ops{RestrictedOp({}, {"s0"}),
                      RestrictedOp({"s0"}, {}),
                      RestrictedOp({}, {"s0"}),
                      RestrictedOp({"gpu"}, {})};
  for (size_t v = 0; v < ops.size(); ++v) ops[v].name = std::to_string(v);
  const Graph graph("g", {}, ops);
  AllowedDevices allowed(graph, Pair(), "costs");
  CHECK(allowed.Of(graph.op(0)) == 0b010);
  CHECK_THROWS_AS(allowed.Of(graph.op(1)), InputError);  // a kind of this name is not there
  CHECK_THROWS_AS(allowed.Of(graph.op(1)), InputError);
  CHECK(allowed.Of(graph.op(2)) == 0b010);
  CHECK(allowed.Of(graph.op(3)) == 0b101);
}

TEST_CASE("a network device runs only ops that ask for it") {
  const Cluster cluster = ReadCluster(
      "name: net\n"
      "device_kinds: {bare: {class: gpu}, gpu: {class: gpu}, ring: {class: network},\n"
      "               tree: {class: network}}\n"
      "devices: [{name: b0, kind: bare}, {name: g0, kind: gpu}, {name: r0, kind: ring},\n"
      "          {name: r1, kind: ring}, {name: t0, kind: tree}]\n");
  CHECK(Allowed(cluster, {}, {}) == "b0 g0");
  CHECK(Allowed(cluster, {"network"}, {}) == "r0 r1 t0");
  CHECK(Allowed(cluster, {"gpu", "tree"}, {}) == "b0 g0 t0");
  CHECK(Allowed(cluster, {}, {"r?"}) == "r0 r1");
  CHECK(Allowed(cluster, {}, {"*"}) == "b0 g0 r0 r1 t0");
  CHECK(Allowed(cluster, {"network"}, {"*1", "g0"}) == "r1");
  CHECK(Allowed(cluster, {"gpu"}, {"*0"}) == "b0 g0");
}

TEST_CASE("an op whose devices or kinds leave nothing is refused by name") {
  const auto refusal = [](const Cluster& cluster, const Names& kinds, const Names& devices) {
    return testing::MessageOf<InputError>([&] { Allowed(cluster, kinds, devices); });
  };
  CHECK(refusal(Pair(), {"tpu", "npu"}, {}) ==
        "costs: op \"conv1\" may only run on device_kinds [tpu, npu], but no device of cluster "
        "\"pair\" is of these kinds; the cluster has f0 (fast, gpu), s0 (slow, cpu), f1 (fast, "
        "gpu)");
  CHECK(refusal(Pair(), {}, {"f0", "s?0"}) ==
        "costs: graph \"g\": op \"conv1\": devices: no device of cluster \"pair\" matches \"s?0\"; "
        "did you mean \"s0\"? choices: f0, s0, f1");
  CHECK(refusal(Pair(), {"gpu"}, {"s*"}) ==
        "costs: op \"conv1\" may only run on device_kinds [gpu] and devices [s*], but no device of "
        "cluster \"pair\" is allowed by both; the cluster has f0 (fast, gpu), s0 (slow, cpu), f1 "
        "(fast, gpu)");
  const Cluster only_network = ReadCluster(
      "name: n\ndevice_kinds: {ring: {class: network}}\ndevices: [{name: r0, kind: ring}]\n");
  CHECK(refusal(only_network, {}, {}) ==
        "costs: op \"conv1\" may only run on devices of other classes than network, as it names "
        "none, but no device of cluster \"n\" is one; the cluster has r0 (ring, network)");
}

}  // namespace
