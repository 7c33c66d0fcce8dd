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
  const int slow = b.Channel("slow", 4, kGigabytePerSecond);
  b.Route(0, 1, {fast});
  b.Route(1, 0, {slow});
  b.Route(0, 2, {fast, slow});
  b.Route(2, 0, {slow});
  b.Op("a", {4, 5, kMaxNanos}, {}, 3);
  b.Op("b", {7, 7, 8}, {0}, 5);
  b.Op("c", {1, 1, 3}, {0, 1});
  b.Op("d", {6});
  b.op(3).control_inputs = {0};
  const auto problem = b.Build(Grouping::Identity(4), ProblemChecks::kPlacementOnly);
  // Four pairs have a route: latencies 1 + 4 + 1 + 4 + 4 = 14, two hops on fast and three on slow.
  //   3 B: 14 + 2 * 2 + 3 * 3 = 27, mean 6.75: 7.  5 B: 14 + 2 * 3 + 3 * 5 = 35, 8.75: 9.
  //   0 B: 14 / 4 = 3.5: 4.
  // c: 5 / 3 = 1.67: 2. b: 22 / 3 = 7.33: 7, 7 + 9 + 2 = 18. d: 6.
  // a: 9 / 2 = 4.5: 5, + max(7 + max(18, 2), 4 + 6) = 30.
  CHECK(RanksOf(*problem) == std::vector<Nanos>{30, 18, 2, 6});
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
