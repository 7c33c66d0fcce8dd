#include "experiments/export/export_device_map.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "experiments/export/export_modules.h"
#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/experiments/export/export_graph.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using Entries = std::vector<DeviceMap::Entry>;

// cpu:0 is 0, gpu:0 is 1, gpu:1 is 2; ops that are not named are on `otherwise`.
std::vector<DeviceIndex> Devices(const Graph& graph,
                                 const std::map<std::string, DeviceIndex>& named,
                                 DeviceIndex otherwise) {
  std::vector<DeviceIndex> devices(graph.num_ops(), otherwise);
  for (const auto& [op, device] : named) devices[graph.FindOp(op)] = device;
  return devices;
}

TEST_CASE("everything on one device is one entry") {
  const auto graph = ModuleGraph(SmallNet());
  const Problem problem = OpByOp(graph, CpuAndGpus(2));
  const DeviceMap map = MakeDeviceMap(problem, Devices(*graph, {}, 2));
  CHECK(map.entries == Entries{{"", 2}});
  CHECK(map.conflicts.empty());
  CHECK(map.moved == 0);
  CHECK(FormatConflicts(map, problem.cluster()) == "");
}

TEST_CASE("conflicts go to the device with most of the time") {
  const auto graph = ModuleGraph(SmallNet());
  const Problem problem = OpByOp(graph, CpuAndGpus(2));
  // All on gpu:0 but: block.fc/mm (100 ns) on gpu:1, block/add (7) and the weight are not; the head
  // (200 + 300) on cpu:0.
  const std::vector<DeviceIndex> placed = Devices(
      *graph, {{"block.fc/mm", 2}, {"head/t", 0}, {"head/mm", 0}, {"head/backward/mm", 0}}, 1);
  const DeviceMap map = MakeDeviceMap(problem, placed);
  // emb, pos and head share a device: 500 ns on cpu:0 against 10 + 1 + 10 + 5 + 2 + 1 on gpu:0.
  // block: 100 on gpu:1 against 7. The tower and the scale stay.
  CHECK(map.entries ==
        Entries{{"emb", 0}, {"pos", 0}, {"block", 2}, {"scale", 1}, {"tower", 1}, {"head", 0}});
  CHECK(map.num_units == 7);
  REQUIRE(map.conflicts.size() == 2);
  CHECK(map.conflicts[0].units == std::vector<std::string>{"emb", "pos", "head"});
  CHECK(map.conflicts[0].time == std::vector<Nanos>{500, 29, 0});
  CHECK(map.conflicts[0].ops == std::vector<int>{3, 8, 0});
  CHECK(map.conflicts[0].device == 0);
  CHECK(map.conflicts[0].moved == 29);
  CHECK(map.conflicts[1].units == std::vector<std::string>{"block"});
  CHECK(map.conflicts[1].moved == 7);
  CHECK(map.moved == 36);
  CHECK(map.total == 707);
  CHECK(map.device_of_op[graph->FindOp("loss/nll")] == 0);
  CHECK(map.device_of_op[graph->FindOp("block.fc.weight")] == 2);
  CHECK(map.device_of_op[graph->FindOp("tower/cat")] == 1);
  // 36 / 707 = 5.09 %; 500 / 529 = 94.5 %; 100 / 107 = 93.5 %.
  CHECK(FormatConflicts(map, problem.cluster()) ==
        "conflicts        4 of 7 modules had ops on several devices; the export moves 5.1 % of the "
        "time to another device\n"
        "  emb, pos, head: cpu:0 94.5 % (3 ops), gpu:0 5.5 % (8 ops) -> cpu:0; joined by "
        "model/add, head/t\n"
        "  block: gpu:0 6.5 % (2 ops), gpu:1 93.5 % (1 ops) -> gpu:1\n");
}

TEST_CASE("without time the ops are counted, then the earlier device wins") {
  const auto graph = ModuleGraph({{"m.a/x", "m.a", {}, 0},
                                  {"m.a/y", "m.a", {}, 0},
                                  {"m.b/x", "m.b", {}, 0},
                                  {"m.b/y", "m.b", {}, 0},
                                  {"m.b/z", "m.b", {}, 0}});
  const Problem problem = OpByOp(graph, CpuAndGpus(2));
  const DeviceMap map = MakeDeviceMap(problem, {2, 1, 1, 2, 2});
  CHECK(map.entries == Entries{{"m.a", 1}, {"m.b", 2}});
}

TEST_CASE("modules collapse only where all below them agree") {
  const auto graph = ModuleGraph({{"h.1.a/x", "h.1.a", {}, 1},
                                  {"h.1.b/x", "h.1.b", {}, 1},
                                  {"h.10.a/x", "h.10.a", {}, 1},
                                  {"h.10.b/x", "h.10.b", {}, 1},
                                  {"k.a/x", "k.a", {}, 1}});
  const Problem problem = OpByOp(graph, CpuAndGpus(2));
  CHECK(MakeDeviceMap(problem, {1, 1, 1, 2, 2}).entries ==
        Entries{{"h.1", 1}, {"h.10.a", 1}, {"h.10.b", 2}, {"k", 2}});
  CHECK(MakeDeviceMap(problem, {1, 1, 1, 1, 2}).entries == Entries{{"h", 1}, {"k", 2}});
}

TEST_CASE("bound modules that no device may run together are refused") {
  std::vector<ModuleOp> specs = {
      {"a/x", "a", {}, 1}, {"b/x", "b", {}, 1}, {"model/add", "", {"a/x", "b/x"}, 1}};
  const auto graph = ModuleGraph(specs);
  std::vector<Op> ops(graph->ops().begin(), graph->ops().end());
  ops[0].device_kinds = {"cpu"};
  ops[1].device_kinds = {"gpu"};
  const auto picky = std::make_shared<const Graph>(
      "net", std::vector<Tensor>(graph->tensors().begin(), graph->tensors().end()), ops);
  const Problem problem = OpByOp(picky, CpuAndGpus(1));
  CHECK_THROWS_WITH_AS(
      MakeDeviceMap(problem, {0, 1, 1}),
      "graph \"net\": a device_map needs one device for module \"a\", but no "
      "device may run all of its ops and the ops bound to them (device_kinds, devices)",
      InputError);
  ops[1].device_kinds = {};  // gpu:0 has most of the time, but only cpu:0 may run all
  const auto possible = std::make_shared<const Graph>(
      "net", std::vector<Tensor>(graph->tensors().begin(), graph->tensors().end()), ops);
  CHECK(MakeDeviceMap(OpByOp(possible, CpuAndGpus(1)), {0, 1, 1}).entries == Entries{{"", 0}});
}

// A random tree of modules, ops of which read earlier ops and parameters.
std::vector<ModuleOp> RandomNet(Rng& rng) {
  std::vector<std::string> paths = {""};
  for (int i = 0; i < 12; ++i) {
    const std::string parent = paths[UniformInt(rng, static_cast<int>(paths.size()))];
    paths.push_back((parent.empty() ? "" : parent + ".") + "m" + std::to_string(i));
  }
  std::vector<ModuleOp> ops;
  for (int i = 0; i < 6; ++i) {
    const std::string path = paths[UniformInt(rng, static_cast<int>(paths.size()))];
    ops.push_back(State((path.empty() ? "" : path + ".") + "w" + std::to_string(i), path));
  }
  for (int i = 0; i < 30; ++i) {
    ModuleOp op{"op" + std::to_string(i), paths[UniformInt(rng, static_cast<int>(paths.size()))]};
    for (int k = UniformInt(rng, 3); k > 0; --k) {
      op.inputs.push_back(ops[UniformInt(rng, static_cast<int>(ops.size()))].name);
    }
    op.cost = UniformInt(rng, 50);
    ops.push_back(std::move(op));
  }
  ops.push_back({"last", paths.back(), {}, 1});  // so that there is a module path
  return ops;
}

TEST_CASE("random nets: the map covers every state once and runs without moves between ops") {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::vector<ModuleOp> specs = RandomNet(rng);
    const auto graph = ModuleGraph(specs);
    const Problem problem = OpByOp(graph, CpuAndGpus(3));
    std::vector<DeviceIndex> placed(graph->num_ops());
    for (DeviceIndex& device : placed) device = static_cast<DeviceIndex>(UniformInt(rng, 4));
    const DeviceMap map = MakeDeviceMap(problem, placed);
    const ModuleUnits units = FindModuleUnits(*graph);
    const auto entry_of = [&](const std::string& name) {
      const DeviceMap::Entry* found = nullptr;
      for (const DeviceMap::Entry& entry : map.entries) {
        if (!IsWithin(name, entry.module)) continue;
        CHECK(found == nullptr);  // no overlap
        found = &entry;
      }
      return found;
    };
    Nanos moved = 0;
    for (int v = 0; v < graph->num_ops(); ++v) {
      CAPTURE(specs[v].name);
      const bool is_state = graph->op(v).IsStorage();
      const DeviceMap::Entry* entry = entry_of(is_state ? specs[v].name : specs[v].module);
      if (is_state) REQUIRE(entry != nullptr);
      if (entry != nullptr && (is_state || !specs[v].module.empty()))
        CHECK(map.device_of_op[v] == entry->device);
      if (map.device_of_op[v] != placed[v]) moved += problem.costs().at(v, placed[v]);
      // Between two ops of one forward() nothing moves: an op outside of all entries finds its
      // inputs where it runs, and every op its parameters.
      for (const std::string& input : specs[v].inputs) {
        const int from = graph->FindOp(input);
        if (entry != nullptr && !graph->op(from).IsStorage()) continue;
        if (units.unit_of_op[v] == kNoUnit) continue;
        CHECK(map.device_of_op[from] == map.device_of_op[v]);
      }
    }
    CHECK(map.moved == moved);
    // Two entries of one device side by side would be one entry of their parent, were all below it.
    for (const DeviceMap::Entry& entry : map.entries) {
      const size_t dot = entry.module.rfind('.');
      const std::string parent = dot == std::string::npos ? "" : entry.module.substr(0, dot);
      if (entry.module.empty()) continue;
      CHECK(std::any_of(map.entries.begin(), map.entries.end(), [&](const auto& other) {
        return IsWithin(other.module, parent) && other.device != entry.device;
      }));
    }
  }
}

}  // namespace
