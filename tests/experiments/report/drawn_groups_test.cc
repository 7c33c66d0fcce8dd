#include "experiments/report/drawn_groups.h"

#include <map>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A chain of six ops in two scopes.
ProblemBuilder Chain() {
  ProblemBuilder builder = Gpus(2);
  for (int i = 0; i < 6; ++i) {
    const std::vector<int> inputs = i == 0 ? std::vector<int>{} : std::vector<int>{i - 1};
    builder.Op(
        "net/" + std::string(i < 3 ? "a" : "b") + "/op" + std::to_string(i), {10}, inputs, 100 + i);
  }
  return builder;
}

TEST_CASE("what shares a device is joined, what takes long stays apart") {
  const auto graph = Chain().BuildGraph();
  // Devices 0 0 0 1 1 0; op 4 takes long.
  const std::vector<DeviceIndex> devices = {0, 0, 0, 1, 1, 0};
  const std::vector<double> weight = {10, 10, 10, 10, 90, 10};
  const Grouping start = Grouping::Identity(6);
  const Grouping three = GroupForDrawing(*graph, start, devices, weight, 3);
  CHECK(std::vector<int>(three.group_of_op().begin(), three.group_of_op().end()) ==
        std::vector<int>{0, 0, 0, 1, 1, 2});
  CHECK(GroupForDrawing(*graph, start, devices, weight, 6).num_groups() == 6);
  // One less joins devices: the cheapest is op 5.
  const Grouping two = GroupForDrawing(*graph, start, devices, weight, 2);
  CHECK(std::vector<int>(two.group_of_op().begin(), two.group_of_op().end()) ==
        std::vector<int>{0, 0, 0, 1, 1, 1});
}

TEST_CASE("ops that nothing connects are one node per device") {
  ProblemBuilder builder = Gpus(2);
  for (int i = 0; i < 20; ++i) builder.Op("op" + std::to_string(i), {5});
  std::vector<DeviceIndex> devices;
  for (int i = 0; i < 20; ++i) devices.push_back(static_cast<DeviceIndex>(i % 2));
  const Grouping nodes = GroupForDrawing(
      *builder.BuildGraph(), Grouping::Identity(20), devices, std::vector<double>(20, 5), 4);
  REQUIRE(nodes.num_groups() == 2);
  for (int v = 0; v < 20; ++v) CHECK(nodes.group_of(v) == v % 2);
}

TEST_CASE("titles") {
  const auto graph = Chain().BuildGraph();
  const auto names = ForwardNames(*graph);
  const std::vector<double> weight = {1, 1, 1, 10, 1, 1};
  CHECK(DrawnTitle(names, std::vector<int>{4}, weight) == "net/b/op4");
  CHECK(DrawnTitle(names, std::vector<int>{0, 1, 2}, weight) == "net/a");
  CHECK(DrawnTitle(names, std::vector<int>{1, 2, 3}, weight) == "net/b");
  CHECK(DrawnTitle(names, std::vector<int>{2, 4}, weight) == "net");
  CHECK(DrawnTitle(names, std::vector<int>{0, 3}, std::vector<double>(6, 0)) == "net");
}

TEST_CASE("a gradient has the name of its forward op") {
  ProblemBuilder builder = Gpus(1);
  builder.Op("layer/mul", {1}, {}, 4);
  builder.Op("gradients/mul_grad", {1}, {0}, 4);
  builder.op(1).attributes = R"({"forward_op": "layer/mul"})";
  const auto graph = builder.BuildGraph();
  CHECK(ForwardNames(*graph) == std::vector<std::string_view>{"layer/mul", "layer/mul"});
}

TEST_CASE("edges between nodes: bytes both ways, light ones left out") {
  ProblemBuilder builder = Gpus(1);
  builder.Op("a", {1}, {}, 100);
  builder.Op("b", {1}, {0}, 30);
  builder.Op("da", {1}, {1}, 7);
  builder.op(2).phase = Phase::kBackward;
  builder.Op("c", {1}, {2}, 1);
  const auto graph = builder.BuildGraph();
  // {a, da}, {b}, {c}: 100 B there, 30 B back, 7 B on.
  const std::vector<int> label = {0, 1, 0, 2};
  const auto edges = DrawnEdges(*graph, Grouping(label));
  CHECK(edges == std::vector<DrawnEdge>{{0, 1, 100, 30, 2}, {0, 2, 7, 0, 1}});
  // Roots 10, 9.5, 3.2: the first two hold 86 %.
  CHECK(HeaviestEdges({{0, 1, 100, 0, 1}, {0, 2, 90, 0, 1}, {1, 2, 5, 5, 2}}, 3, 0.8) ==
        std::vector<DrawnEdge>{{0, 1, 100, 0, 1}, {0, 2, 90, 0, 1}});
  // Two pairs that only a light edge joins.
  CHECK(HeaviestEdges(
            {{0, 1, 100, 0, 1}, {0, 2, 1, 0, 1}, {1, 3, 2, 0, 1}, {2, 3, 100, 0, 1}}, 4, 0.5) ==
        std::vector<DrawnEdge>{{0, 1, 100, 0, 1}, {1, 3, 2, 0, 1}, {2, 3, 100, 0, 1}});
}

TEST_CASE("random graphs: groups stay whole, edges carry all bytes and have no cycle") {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    RandomProblemOptions options;
    options.num_ops = 5 + UniformInt(rng, 60);
    const auto problem = RandomProblem(rng, options);
    const Graph& graph = problem->graph();
    const Grouping& start = problem->grouping();
    std::vector<DeviceIndex> devices(graph.num_ops());
    std::vector<double> weight(graph.num_ops());
    for (int v = 0; v < graph.num_ops(); ++v) {
      devices[v] = static_cast<DeviceIndex>(start.group_of(v) % 3);
      weight[v] = UniformInt(rng, 10);
    }
    const int limit = 1 + UniformInt(rng, 20);
    const Grouping nodes = GroupForDrawing(graph, start, devices, weight, limit);
    for (int group = 0; group < start.num_groups(); ++group) {
      for (const int v : start.members(group)) {
        CHECK(nodes.group_of(v) == nodes.group_of(start.members(group)[0]));
      }
    }
    if (nodes.num_groups() > limit) {  // then nothing is left to be joined
      CHECK(DrawnEdges(graph, nodes).empty());
      CHECK(nodes.num_groups() <= 3);
    }

    std::map<std::pair<int, int>, std::int64_t> plain;
    for (int t = 0; t < graph.num_tensors(); ++t) {
      const Tensor& tensor = graph.tensor(t);
      if (tensor.producer < 0) continue;
      std::set<int> readers;
      for (const int v : graph.readers(t)) readers.insert(nodes.group_of(v));
      for (const int to : readers) {
        if (to != nodes.group_of(tensor.producer)) {
          plain[{nodes.group_of(tensor.producer), to}] += tensor.bytes;
        }
      }
    }
    std::vector<int> indegree(nodes.num_groups(), 0);
    const auto edges = DrawnEdges(graph, nodes);
    for (const DrawnEdge& edge : edges) {
      ++indegree[edge.to];
      CHECK(edge.bytes == plain[{edge.from, edge.to}]);
      CHECK(edge.back == plain[{edge.to, edge.from}]);
    }
    std::vector<int> ready;
    for (int node = 0; node < nodes.num_groups(); ++node) {
      if (indegree[node] == 0) ready.push_back(node);
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      for (const DrawnEdge& edge : edges) {
        if (edge.from == ready[i] && --indegree[edge.to] == 0) ready.push_back(edge.to);
      }
    }
    CHECK(ready.size() == static_cast<size_t>(nodes.num_groups()));
  }
}

}  // namespace
