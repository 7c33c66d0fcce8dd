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

TEST_CASE("on a device with one slot an op waits for the gap after another that takes time") {
  ProblemBuilder b;
  const int d0 = b.Device("d0"), d1 = b.Device("d1", kUnlimitedMemory, 2);
  b.AllToAll(1, kGigabytePerSecond);
  b.kind(d0).gap = 3;
  b.kind(d1).gap = 4;
  const int a = b.Op("a", {10, 10}, {}, 6);
  const int none = b.Op("none", {0, 0}, {a}, 6);
  b.Op("x", {5, 5}, {none});
  const auto problem = b.Build(Grouping(std::vector<int>{0, 1, 1}));
  const DelayGraph graph(*problem);
  const auto after = [&](int op) {
    const auto delays = graph.delays(graph.edges_into(op)[0].table);
    return std::vector<Nanos>(delays.begin(), delays.end());
  };
  CHECK(after(1) == std::vector<Nanos>{3, 7, 7, 0});
  CHECK(after(2) == std::vector<Nanos>{0, kMaxNanos, kMaxNanos, 0});
  CHECK(graph.gap(0, 0) == 3);
  CHECK(graph.gap(0, 1) == 4);
  CHECK(graph.gap(1, 0) == 0);
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
