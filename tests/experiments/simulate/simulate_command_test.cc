#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/cost/cost_table.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// An op of `us` microseconds on kind g that reads tensors and makes tensor `id`.
std::string OpJson(int id, const std::string& name, int us, const std::string& inputs) {
  return fmt::format(
      R"({{"id": {0}, "name": "{1}", "kind": "k", "inputs": [{3}], "outputs": [{0}],
          "cost_ns": {{"g": {2}}}}})",
      id,
      name,
      us * 1000,
      inputs);
}

std::string TensorsJson(const std::vector<int>& bytes) {
  std::vector<std::string> tensors;
  for (size_t i = 0; i < bytes.size(); ++i) {
    tensors.push_back(fmt::format(R"({{"id": {}, "bytes": {}}})", i, bytes[i]));
  }
  return fmt::format("{}", fmt::join(tensors, ", "));
}

// The machine of Placeto's published simulator: one broadcasting bus out of each device.
const char* const kBusCluster =
    "name: placeto\n"
    "device_kinds:\n"
    "  g: {class: gpu, gap: 5.7us}\n"
    "devices:\n"
    "  - {name: g0, kind: g, memory: 1GiB}\n"
    "  - {name: g1, kind: g, memory: 1GiB}\n"
    "  - {name: g2, kind: g, memory: 1GiB}\n"
    "egress_bus: {latency: 0us, bandwidth: 7600B/us, gap: 25us, broadcast: true}\n";

struct Case {
  TempDir folder;
  ProcessResult result;
  Json json;

  Case(const std::string& graph,
       const std::string& cluster,
       const std::string& devices,
       std::vector<std::string> more = {},
       const std::string& costs = "") {
    WriteText(folder / "costs.json", costs);
    WriteText(folder / "g.json", graph);
    WriteText(folder / "c.yaml", cluster);
    WriteText(folder / "p.json", PlacementJson(devices));
    std::vector<std::string> arguments = {
        "simulate", "--graph", "g.json", "--cluster", "c.yaml", "--placement", "p.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    result = RunEmplace(arguments, {.folder = folder.path()});
    if (result.exit_code == 0) json = Json::parse(result.out);
  }
};

TEST_CASE("costs with held-out placements say how sure the step time is") {
  CostTable table;
  table.machine = "box";
  table.kinds.push_back({.kind = {.name = "g", .device_class = DeviceClass::kGpu}});
  for (int i = 1; i <= 9; ++i) {
    table.held_out.push_back({"small", fmt::format("random {}", i), 1e6, 1.25e6, 3});
  }
  const auto simulate = [&](const std::string& semantics) {
    const Case c(DiamondJson(),
                 ClusterYaml(),
                 R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:0", "d": "gpu:0")",
                 {"--semantics", semantics, "--costs", "./costs.json"},
                 FormatCostTable(table));
    CAPTURE(c.result.err);
    REQUIRE(c.result.exit_code == 0);
    CHECK(c.json["step_time_ns"] == 4020000);
    return c.json["interval_ns"];
  };
  const Json interval = simulate("stream");  // measured times are 1.25 times the simulated ones
  CHECK(interval["low"] == 5025000);
  CHECK(interval["high"] == 5025000);
  CHECK(interval["level"] == 0.9);
  CHECK(interval["held_out"] == 9);
  CHECK(interval["source"] == "9 held-out placements of small");
  CHECK(simulate("queue") == nullptr);  // they were not simulated as queues
  for (HeldOutStep& step : table.held_out) step.queue_ns = 2.5e6;
  CHECK(simulate("queue")["low"] == 2010000);  // half of the simulated one
  table.held_out.pop_back();
  CHECK(simulate("stream") == nullptr);
}

// A graph on Placeto's machine, ops named a, b, c ... in this order.
struct PlacetoCase {
  std::vector<int> bytes;                        // of each op's output
  std::vector<std::pair<int, const char*>> ops;  // time [us], inputs
  const char* devices;
  int step_time;  // [ns]
};

TEST_CASE("golden cases of the published Placeto simulator, with trailing gaps") {
  const std::vector<PlacetoCase> cases = {
      // a(10) -> b(20), both g0: 10 + 5.7 + 20 + 5.7
      {{0, 0}, {{10, ""}, {20, "0"}}, R"("a": "g0", "b": "g0")", 41400},
      // a(10; 7600 B) on g0 -> b(20) on g1: 10 + 1 + 20 + 5.7
      {{7600, 0}, {{10, ""}, {20, "0"}}, R"("a": "g0", "b": "g1")", 36700},
      // Two transfers on one bus: the second waits for the gap, 10 + 10 + 25 + 10 + 20 + 5.7
      {{76000, 76000, 0, 0},
       {{10, ""}, {10, ""}, {20, "0"}, {20, "1"}},
       R"("a": "g0", "b": "g0", "c": "g1", "d": "g2")",
       80700},
      // a on g0, b on g1 (10; 76000 B) -> c(20) g2: both buses at once
      {{76000, 76000, 0},
       {{10, ""}, {10, ""}, {20, "0, 1"}},
       R"("a": "g0", "b": "g1", "c": "g2")",
       45700},
      // a(10; 76000 B) on g0 -> b(20) g1, c(20) g2: one broadcast of 10 us serves both
      {{76000, 0, 0},
       {{10, ""}, {20, "0"}, {20, "0"}},
       R"("a": "g0", "b": "g1", "c": "g2")",
       45700}};
  Json last;
  for (const PlacetoCase& expected : cases) {
    std::vector<std::string> ops;
    for (const auto& [us, inputs] : expected.ops) {
      const int id = static_cast<int>(ops.size());
      ops.push_back(OpJson(id, std::string(1, static_cast<char>('a' + id)), us, inputs));
    }
    const Case c(GraphJson(TensorsJson(expected.bytes), fmt::format("{}", fmt::join(ops, ","))),
                 kBusCluster,
                 expected.devices,
                 {"--count-gaps"});
    CHECK(c.json["step_time_ns"] == expected.step_time);
    last = c.json["channels"];
  }
  CHECK(last["g0->*"] == Json::parse(R"({"busy_ns": 10000, "transfers": 1, "bytes": 76000})"));
  CHECK(last["g1->*"] == Json::parse(R"({"busy_ns": 0, "transfers": 0, "bytes": 0})"));
}

TEST_CASE("every field that simulator/README.md names, by hand, in the order of the cluster") {
  // a 0..10 us on gpu:0; its 1 MB to gpu:1 takes 1000 us + 5 us, arrival 1015 us; b 10..2010 on
  // gpu:0; c 1015..3015 on gpu:1; c's 1 MB back: arrival 3015 + 1005 = 4020; d 4020..4030 us on
  // gpu:0. Peak gpu:0: a's and b's outputs while b runs (2 MB), then b's output, c's copy and d's
  // output: 3 MB. (a's output is free when its last reader here, b, is done at 2010.) Peak gpu:1:
  // the copy of a's output and c's own: 2 MB. Bound: a, b, d on their best devices 10 + 2000 + 10
  // us; work: the 4020 us over two GPUs and a CPU that takes 4 times as long, 4020 / (2 + 1/4). In
  // any order this placement takes at least its longest path with transfers, by c: 4030 us.
  const Case c(
      DiamondJson(), ClusterYaml(), R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0")");
  REQUIRE(c.result.exit_code == 0);
  CHECK(c.result.err == "");
  const Json expected = Json::parse(R"({
    "step_time_ns": 4030000,
    "interval_ns": null,
    "feasible": true,
    "devices": {
      "cpu:0": {"busy_ns": 0, "peak_bytes": 0, "deficit_bytes": 0},
      "gpu:0": {"busy_ns": 2020000, "peak_bytes": 3000000, "deficit_bytes": 0},
      "gpu:1": {"busy_ns": 2000000, "peak_bytes": 2000000, "deficit_bytes": 0}},
    "channels": {
      "cpu:0->gpu:0": {"busy_ns": 0, "transfers": 0, "bytes": 0},
      "cpu:0->gpu:1": {"busy_ns": 0, "transfers": 0, "bytes": 0},
      "gpu:0->cpu:0": {"busy_ns": 0, "transfers": 0, "bytes": 0},
      "gpu:0->gpu:1": {"busy_ns": 1000000, "transfers": 1, "bytes": 1000000},
      "gpu:1->cpu:0": {"busy_ns": 0, "transfers": 0, "bytes": 0},
      "gpu:1->gpu:0": {"busy_ns": 1000000, "transfers": 1, "bytes": 1000000}},
    "bound_ns": 2020000,
    "bound_method": "critical_path",
    "critical_path_ns": 2020000,
    "work_ns": 1786667,
    "placement_bound_ns": 4030000,
    "simulated": {"placement": "p.json", "semantics": "queue", "priority": "id",
      "objective": "step_time", "count_gaps": false, "costs": "none", "contracted": null}})");
  CHECK(c.json.dump() == expected.dump());
}

TEST_CASE("a placement that does not fit is an answer, not an error") {
  const Case c(DiamondJson(),
               ClusterYaml("2500000B"),
               R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0")");
  REQUIRE(c.result.exit_code == 0);
  CHECK(c.json["feasible"] == false);
  CHECK(c.json["devices"]["gpu:0"]["deficit_bytes"] == 500000);
  CHECK(c.json["devices"]["gpu:1"]["deficit_bytes"] == 0);
}

TEST_CASE("routes that the placement does not need may be missing") {
  const std::string cluster =
      "name: inline\n"
      "device_kinds: {g: {class: gpu}, c: {class: cpu}}\n"
      "devices: [{name: x, kind: g, memory: 1GiB}, {name: y, kind: g, memory: 1GiB}]\n"
      "channels: [{name: wire, latency: 0us, bandwidth: 1GB/s}]\n"
      "routes: [{from: x, to: y, via: [wire]}]\n";
  // a 10 us, 1000 us on the wire, c 2000 us
  const Case forth(DiamondJson(), cluster, R"("a": "x", "b": "y", "c": "y", "d": "y")");
  REQUIRE(forth.result.exit_code == 0);
  CHECK(forth.json["step_time_ns"] == 10000 + 1000000 + 2 * 2000000 + 10000);
  const Case back(DiamondJson(), cluster, R"("a": "x", "b": "x", "c": "y", "d": "x")");
  CheckRefused(back.result, 2, {"no route", "\"y\"", "\"x\"", "\"c\""});
}

TEST_CASE("placements that break the graph's rules are refused by name") {
  const std::string labelled = GraphJson(
      TensorsJson({0, 0}),
      R"({"id": 0, "name": "weight", "kind": "k", "inputs": [], "outputs": [0], "colocate": "w",
          "cost_ns": {"g": 1, "c": 1}},
         {"id": 1, "name": "update", "kind": "k", "inputs": [0], "outputs": [1], "colocate": "w",
          "device_kinds": ["gpu"], "cost_ns": {"g": 1, "c": 1}})");
  const Case split(labelled, ClusterYaml(), R"("weight": "gpu:0", "update": "gpu:1")");
  CheckRefused(
      split.result, 2, {"p.json", "\"weight\" (on gpu:0)", "\"update\" (on gpu:1)", "\"w\""});
  const Case forbidden(labelled, ClusterYaml(), R"("weight": "cpu:0", "update": "cpu:0")");
  CheckRefused(
      forbidden.result, 2, {"p.json", "\"update\"", "may not run on \"cpu:0\"", "gpu:0, gpu:1"});
}

TEST_CASE("the issue order of the placement file, unless --priority says otherwise") {
  // a (1 us) and b (10 us) on gpu:0; c, which reads b (1 kB), on gpu:1.
  const TempDir folder;
  WriteText(folder / "g.json",
            GraphJson(TensorsJson({0, 1000, 0}),
                      OpJson(0, "a", 1, "") + "," + OpJson(1, "b", 10, "") + "," +
                          OpJson(2, "c", 20, "1")));
  WriteText(folder / "c.yaml",
            "name: inline\n"
            "device_kinds: {g: {class: gpu}}\n"
            "devices: [{name: \"gpu:0\", kind: g}, {name: \"gpu:1\", kind: g}]\n"
            "all_to_all: {latency: 5us, bandwidth: 1GB/s}\n");
  const std::string devices = R"("devices": {"a": "gpu:0", "b": "gpu:0", "c": "gpu:1"}})";
  const std::string head = R"({"format": "emplace-placement", "version": 1, )";
  WriteText(folder / "ordered.json", head + R"("issue_order": ["b", "c", "a"], )" + devices);
  WriteText(folder / "bare.json", head + devices);
  const auto simulate = [&](const std::string& placement, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"simulate", "--graph", "g.json", "--cluster", "c.yaml", "--placement", placement});
    return RunEmplace(more, {.folder = folder.path()});
  };
  const auto time_of = [&](const std::string& placement, std::vector<std::string> more) {
    more.insert(more.end(), {"--semantics", "stream"});
    const ProcessResult result = simulate(placement, more);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out)["step_time_ns"].get<std::int64_t>();
  };
  // By id: a 0-1, b 1-11, 1 us on the wire and 5 us of latency, c 17-37. With b first: c 16-36.
  CHECK(time_of("bare.json", {}) == 37000);
  CHECK(time_of("bare.json", {"--priority", "upward_rank"}) == 36000);
  CHECK(time_of("ordered.json", {}) == 36000);
  CHECK(time_of("ordered.json", {"--priority", "given", "--trace", "t.json"}) == 36000);
  CHECK(time_of("ordered.json", {"--priority", "id"}) == 37000);
  // Queue semantics does not look at the order, and has none to choose.
  const ProcessResult queue = simulate("ordered.json", {});
  REQUIRE(queue.exit_code == 0);
  CHECK(Json::parse(queue.out)["step_time_ns"] == 37000);
  CheckRefused(simulate("ordered.json", {"--priority", "given"}),
               2,
               {"--priority: queue semantics has no issue order; expected priority id, got given"});
  CheckRefused(simulate("bare.json", {"--semantics", "stream", "--priority", "given"}),
               2,
               {"bare.json: has no issue_order, which --priority given asks for"});
  WriteText(folder / "wrong.json", head + R"("issue_order": ["c", "b", "a"], )" + devices);
  CheckRefused(simulate("wrong.json", {"--semantics", "stream"}),
               2,
               {"wrong.json: issue_order: op \"c\" at position 0 depends on op \"b\""});
}

}  // namespace
