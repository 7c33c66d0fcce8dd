#include "framework/instances/max_load.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_doubts.h"
#include "framework/search/costed_problem.h"
#include "simulator/simulator.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// a -> b, c; b -> d. One CPU, two accelerators.
constexpr const char* kDiamond = R"({
  "maxSizePerFPGA": 100.5, "maxFPGAs": 2, "maxCPUs": 1,
  "nodes": [
    {"id": 7, "name": "a", "supportedOnFpga": 1, "cpuLatency": 4, "fpgaLatency": 2.5, "size": 60,
     "isBackwardNode": 0},
    {"id": 8, "supportedOnFpga": true, "cpuLatency": 9, "fpgaLatency": 3, "size": 50.5,
     "isBackwardNode": true, "colorClass": 1, "layerId": 3},
    {"id": 9, "name": "c", "supportedOnFpga": false, "cpuLatency": 1.25, "fpgaLatency": 0,
     "colorClass": 5},
    {"id": 3, "name": "a", "supportedOnFpga": true, "cpuLatency": 8, "fpgaLatency": 1, "size": 1,
     "colorClass": 1}
  ],
  "edges": [
    {"sourceId": 7, "destId": 8, "cost": 0.5, "size": 1},
    {"sourceId": 7, "destId": 9, "cost": 0.5},
    {"sourceId": 7, "destId": 9, "cost": 0.5},
    {"sourceId": 8, "destId": 3, "cost": 10}
  ]})";

std::shared_ptr<const Problem> MaxLoadProblem(const Instance& instance) {
  const auto graph = std::make_shared<const Graph>(instance.graph);
  return CostedProblem(graph, std::make_shared<const Cluster>(instance.cluster), "test")
      .WithGroups(ColocateByLabel(*graph, Grouping::Identity(graph->num_ops())),
                  Objective::kPeriod);
}

TEST_CASE("an instance of max-load: what each device pays, by hand") {
  const Instance instance = ReadMaxLoad(kDiamond, "diamond", "d.json");
  CHECK(instance.cluster.DeviceNames() == std::vector<std::string>{"cpu:0", "gpu:0", "gpu:1"});
  CHECK(instance.cluster.device(1).memory == 101);
  CHECK(instance.graph.op(1).name == "node 8");
  CHECK(instance.graph.op(1).phase == Phase::kBackward);
  CHECK(instance.graph.op(3).name == "a (3)");
  CHECK(instance.graph.op(1).colocate == "color 1");
  CHECK(instance.graph.op(2).colocate.empty());  // no other node has its color
  CHECK(FindDoubts(instance.graph).empty());

  // Groups: a; node 8 and a (3), which share color 1; c, on the CPU only.
  const auto problem = MaxLoadProblem(instance);
  CHECK(problem->num_groups() == 3);
  CHECK(problem->allowed_devices(2) == 0b001);
  const auto simulator = MakeSimulator(problem, {});
  constexpr Nanos kUnit = 1'000'000'000;
  // gpu:0: a 2.5, its output out once 0.5 = 3. gpu:1: 3 + 1, the output of a in 0.5 = 4.5; 10 stay
  // within. The CPU: c 1.25, pays nothing.
  Outcome outcome = simulator->Evaluate(Placement{{1, 2, 0}});
  CHECK(outcome.step_time == 9 * kUnit / 2);
  CHECK(outcome.feasible);
  CHECK(outcome.devices[1].peak == 60);
  CHECK(outcome.devices[2].peak == 52);  // 50.5 is 51 B, and 1 B
  // On one accelerator: 2.5 + 3 + 1 + 0.5 for c on the CPU = 7, and 60 + 51 + 1 B, 11 too many.
  outcome = simulator->Evaluate(Placement{{1, 1, 0}});
  CHECK(outcome.step_time == 7 * kUnit);
  CHECK(outcome.deficit() == 11);
  // All on the CPU: 4 + 9 + 8 + 1.25.
  CHECK(simulator->Evaluate(Placement{{0, 0, 0}}).step_time == 89 * kUnit / 4);
}

std::string MaxLoadFailure(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return MessageOf<InputError>([&] { ReadMaxLoad(text, "diamond", "d.json"); });
}

TEST_CASE("a wrong instance is refused with place and value") {
  CHECK(MaxLoadFailure(kDiamond, "\"maxCPUs\": 1,", "") ==
        "d.json: required key \"maxCPUs\" is missing");
  CHECK(MaxLoadFailure(kDiamond, "\"maxCPUs\": 1", "\"maxCPUs\": 65") ==
        "d.json: maxCPUs: got 65; expected at most 64 devices");
  CHECK(MaxLoadFailure(kDiamond, "\"id\": 8", "\"id\": 7") ==
        "d.json: nodes[1]: id 7 is already used by another node");
  CHECK(MaxLoadFailure(kDiamond, "\"id\": 8,", "") ==
        "d.json: nodes[1]: required key \"id\" is missing");
  CHECK(MaxLoadFailure(kDiamond, "\"cpuLatency\": 9", "\"cpuLatency\": -9") ==
        "d.json: nodes[1]: cpuLatency: got -9; expected a finite number >= 0");
  CHECK(MaxLoadFailure(kDiamond, "\"cpuLatency\": 9", "\"cpuLatency\": 1e9") ==
        "d.json: nodes[1]: cpuLatency: got 1000000000.0; expected less than 2^56 ns; a unit is "
        "1000000000 ns");
  CHECK(MaxLoadFailure(kDiamond, "\"isBackwardNode\": 0", "\"isBackwardNode\": 2") ==
        "d.json: nodes[0] \"a\": isBackwardNode: got 2; expected true, false, 1 or 0");
  CHECK(MaxLoadFailure(kDiamond, "\"destId\": 8", "\"destId\": 1") ==
        "d.json: edges[0]: destId: no node has id 1");
  CHECK(MaxLoadFailure(kDiamond, "\"cost\": 0.5}", "\"cost\": 1}") ==
        "d.json: edges[1]: cost: 1000000000 ns; an edge of the same source has 500000000 ns, and a "
        "node's output has one cost");
  CHECK(MaxLoadFailure(kDiamond, "\"destId\": 8", "\"destId\": 7").starts_with("d.json: "));
}

}  // namespace
