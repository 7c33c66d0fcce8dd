#include "framework/bounds/delay_graph.h"

#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("delays are transfers of the largest item; within a group there are none") {
  ProblemBuilder b = Gpus(2);  // 1 B/ns after 1 ns
  const int a = b.Op("a", {10}, {}, 6);
  b.AddOutput(a, "a:1", 8);
  const int x = b.Op("x", {5}, {a}, 6);
  b.op(x).inputs.push_back(b.op(a).outputs[1]);
  b.Op("y", {5}, {x});
  b.op(2).control_inputs = {a};
  const auto problem = b.Build(Grouping(std::vector<int>{0, 1, 1}));
  const DelayGraph graph(*problem);
  REQUIRE(graph.edges_into(1).size() == 1);
  const int to_x = graph.edges_into(1)[0].table;
  CHECK(graph.bytes(to_x) == 8);
  CHECK(std::vector<Nanos>(graph.delays(to_x).begin(), graph.delays(to_x).end()) ==
        std::vector<Nanos>{0, 9, 9, 0});
  REQUIRE(graph.edges_into(2).size() == 2);
  const int control = graph.edges_into(2)[0].table, own = graph.edges_into(2)[1].table;
  CHECK(graph.bytes(control) == 0);
  CHECK(graph.delays(control)[1] == 1);
  CHECK(graph.bytes(own) == -1);
  CHECK(graph.delays(own)[0] == 0);
  CHECK(graph.delays(own)[1] == kMaxNanos);
}

TEST_CASE("paths to and from each op, by device and within masks") {
  ProblemBuilder b = Gpus(2);
  const int a = b.Op("a", {10, 20}, {}, 6);
  b.Op("x", {kMaxNanos, 5}, {a}, 0);
  const auto problem = b.Build();
  DelayGraph graph(*problem);
  std::vector<Nanos> finish, tail;
  SetPaths(graph, AllowedDevices(*problem), finish, tail);
  // x on d1: after a on d0 and 1 + 6, or after a on d1.
  CHECK(finish == std::vector<Nanos>{10, 20, kMaxNanos, 10 + 7 + 5});
  CHECK(tail == std::vector<Nanos>{7 + 5, 5, kMaxNanos, 0});
  SetPaths(graph, DeviceMasks{2, 2}, finish, tail);
  CHECK(finish == std::vector<Nanos>{kMaxNanos, 20, kMaxNanos, 25});
  CHECK(tail == std::vector<Nanos>{kMaxNanos, 5, kMaxNanos, 0});
  graph.Add(0, 1, std::vector<Nanos>{kMaxNanos, 9, kMaxNanos, 3});
  SetPaths(graph, AllowedDevices(*problem), finish, tail);
  CHECK(finish == std::vector<Nanos>{10, 20, kMaxNanos, 10 + 9 + 5});
  CHECK(tail == std::vector<Nanos>{9 + 5, 3 + 5, kMaxNanos, 0});
}

}  // namespace
