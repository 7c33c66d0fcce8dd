#include "framework/schedule/upward_rank.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<Nanos> RanksOf(const Problem& problem) {
  return IntegerUpwardRanks(problem.graph(), problem.cluster(), problem.costs());
}

TEST_CASE("upward rank: mean costs and mean transfers, each rounded to the nearest, halves up") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name);
  const int fast = b.Channel("fast", 1, {2'000'000'000, 1});
  const int slow = b.Channel("slow", 32, kGigabytePerSecond);
  const int late = b.Channel("late", 10, {2'000'000'000, 1});
  b.channel(late).setup = 3;
  b.Route(0, 1, {fast});
  b.Route(1, 0, {slow});
  b.Route(0, 2, {fast, late});
  b.Route(2, 1, {late});
  b.Op("a", {4, kMaxNanos, 5}, {}, 3);
  b.Op("b", {7, 7, 8}, {0}, 5);
  b.Op("c", {1, 1, 3}, {1});
  b.Op("d", {6});
  b.op(3).control_inputs = {0};
  b.Op("e", {kMaxNanos, 10, kMaxNanos}, {}, 3);
  b.op(1).control_inputs = {4};
  b.Op("f", {1}, {}, 3);
  b.Op("g", {20}, {4, 5});
  const int wide = b.AddOutput(5, "f:1", 5);
  b.op(1).inputs.push_back(wide);
  b.op(2).inputs.push_back(wide);
  b.op(3).inputs.push_back(wide);
  const auto problem = b.Build(Grouping::Identity(7), ProblemChecks::kPlacementOnly);
  // Four pairs have a route, of latencies 1, 32, 11 and 10: 54. Two hops are on fast, one on slow,
  // two on late. A hop on fast takes half a byte's time a byte, rounded up, one on late 3 besides.
  //   0 B: 54 / 4 = 13.5: 14.
  //   3 B: 54 + 2 * 2 + 3 + 2 * (3 + 2) = 71, mean 17.75: 18.
  //   5 B: 54 + 2 * 3 + 5 + 2 * (3 + 3) = 77, 19.25: 19.
  // c: 5 / 3 = 1.67: 2. d: 6. g: 20. b: 22 / 3 = 7.33: 7, 7 + 19 + 2 = 28.
  // a: 9 / 2 = 4.5: 5, + max(18 + 28, 14 + 6) = 51.
  // e: 10 + max(18 + 20, 14 + 28) = 52, by the control edge.
  // f: 1 + max(18 + 20, 19 + max(28, 2, 6)) = 48, by its second output.
  CHECK(RanksOf(*problem) == std::vector<Nanos>{51, 28, 2, 6, 52, 48, 20});
}

TEST_CASE("upward rank: without a route nothing is added, and no rank passes the largest time") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("a", {3}, {}, 100);
  b.Op("b", {4}, {0});
  CHECK(RanksOf(*b.Build()) == std::vector<Nanos>{7, 4});

  const Graph graph("chain",
                    {Tensor{.name = "t"}},
                    {Op{.name = "a", .outputs = {0}}, Op{.name = "b", .inputs = {0}}});
  Costs costs{.num_ops = 2, .num_devices = 1, .time = {kMaxNanos - 1, kMaxNanos - 1}};
  CHECK(IntegerUpwardRanks(graph, *b.BuildCluster(), costs) ==
        std::vector<Nanos>{kMaxNanos, kMaxNanos - 1});
}

TEST_CASE("random: an op ranks no lower than what awaits it, so that ranks give an issue order") {
  Rng rng(31);
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem =
        RandomProblem(rng, {.num_ops = 1 + UniformInt(rng, 40), .forbidden = true});
    const Graph& graph = problem->graph();
    const std::vector<Nanos> rank = RanksOf(*problem);
    for (int v = 0; v < graph.num_ops(); ++v) {
      for (const int next : graph.successors(v)) REQUIRE(rank[v] >= rank[next]);
    }
    const std::vector<int> order = IssueOrder(graph, rank);
    const bool descends =
        std::ranges::is_sorted(order, [&](int u, int v) { return rank[u] > rank[v]; });
    REQUIRE(descends);
  }
}

}  // namespace
