#include "framework/bounds/segments.h"

#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr std::int64_t kMuch = 1'000'000'000;

// A fork of two ops with equal costs, 100 ns each, between a and b. Items take 1 + `bytes` ns.
ProblemBuilder Fork(std::int64_t bytes) {
  ProblemBuilder builder = Gpus(3);
  const int a = builder.Op("a", {10}, {}, bytes);
  const int x = builder.Op("x", {100}, {a}, bytes);
  const int y = builder.Op("y", {100}, {a}, bytes);
  builder.Op("b", {10}, {x, y});
  return builder;
}

std::vector<Nanos> DelaysOfFork(const Problem& problem) {
  DelayGraph graph(problem);
  AddSegments(graph, {}, kMuch);
  REQUIRE(graph.added_into(3).size() == 1);
  CHECK(graph.added_into(3)[0].op == 0);
  const auto delays = graph.delays(graph.added_into(3)[0].table);
  return {delays.begin(), delays.end()};
}

// What is proved is within 1 % of the truth.
void CheckClose(Nanos proved, Nanos truth) {
  CHECK(proved <= truth);
  CHECK(proved * 100 >= truth * 99 - 100);
}

TEST_CASE("a fork either stays on one device or pays for its transfers") {
  // Away and back: 30 + 100 + 30, less than 200 on one device. From d0 to d1: 30 + 100.
  const auto cheap = DelaysOfFork(*Fork(29).Build());
  CheckClose(cheap[0], 160);
  CheckClose(cheap[1], 130);
  // Away and back: 80 + 100 + 80, more than 200. From d0 to d1: one op on each, 80 + 100.
  const auto dear = DelaysOfFork(*Fork(79).Build());
  CheckClose(dear[0], 200);
  CheckClose(dear[1], 180);
  // Devices that nothing tells apart.
  for (const auto& delays : {cheap, dear}) {
    CHECK(delays[4] == delays[0]);
    CHECK(delays[5] == delays[1]);
    CHECK(delays[6] == delays[1]);
  }
}

TEST_CASE("ops of one group add up wherever they are") {
  const auto problem = Fork(29).Build(Grouping(std::vector<int>{0, 1, 1, 0}));
  const auto delays = DelaysOfFork(*problem);
  CheckClose(delays[0], 200);
  CHECK(delays[1] == kMaxNanos);  // a and b share a device
}

TEST_CASE("transfers over one channel wait for each other") {
  // Four ops, each bound to d1, read items of their own from a on d0, and b on d0 reads theirs.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1", kUnlimitedMemory, 4);
  const int there = builder.Channel("there", 0, kGigabytePerSecond);
  const int back = builder.Channel("back", 0, kGigabytePerSecond);
  builder.Route(0, 1, {there});
  builder.Route(1, 0, {back});
  const int a = builder.Op("a", {10, kMaxNanos});
  std::vector<int> branches;
  for (const char* name : {"w", "x", "y", "z"}) {
    branches.push_back(builder.Op(name, {kMaxNanos, 30}, {a}, 40));
  }
  builder.Op("b", {10, kMaxNanos}, branches);
  const auto problem = builder.Build();
  DelayGraph graph(*problem);
  AddSegments(graph, {}, kMuch);
  REQUIRE(graph.added_into(5).size() == 1);
  // All four run at once, 30; their items come back one after another, 4 * 40.
  CheckClose(graph.delays(graph.added_into(5)[0].table)[0], 30 + 160);
}

TEST_CASE("a stop and too little effort leave what was added") {
  const auto problem = Fork(29).Build();
  DelayGraph graph(*problem);
  CHECK(AddSegments(graph, {}, 0) <= 0);
  AddSegments(graph, {}, kMuch, [] { return true; });
  CHECK(graph.added_into(3).empty());
  CHECK(AddSegments(graph, {}, kMuch) > 0);
  CHECK(graph.added_into(3).size() == 1);
  AddSegments(graph, SegmentLimits::OfRound(1), kMuch);
  CHECK(graph.added_into(3).size() == 1);
}

TEST_CASE("only segments on nearly longest paths") {
  ProblemBuilder b = Fork(29);
  const int c = b.Op("c", {10}, {}, 29);
  const int x = b.Op("u", {50}, {c}, 29);
  const int y = b.Op("v", {50}, {c}, 29);
  const int join = b.Op("d", {10}, {x, y});
  const auto problem = b.Build();
  // Paths of 120 end in b, of 70 in d.
  for (const double share : {kCriticalShare, 0.5}) {
    DelayGraph graph(*problem);
    SegmentLimits limits;
    limits.share = share;
    AddSegments(graph, limits, kMuch);
    CHECK(graph.added_into(3).size() == 1);
    CHECK(graph.added_into(join).size() == (share == 0.5 ? 1 : 0));
  }
}

// Equal devices behind two switches, so that pairs of them differ, and chances to gain by forks.
std::shared_ptr<const Problem> ForksOnEqualDevices(Rng& rng) {
  ProblemBuilder b;
  const int boards = 1 + UniformInt(rng, 2);
  for (int d = 0; d < 2 * boards; ++d) b.Device("gpu:" + std::to_string(d));
  const Bandwidth slow{500'000'000, 1};
  for (int board = 0; board < boards; ++board) {
    const int k = b.Channel("p2p" + std::to_string(board), UniformInt(rng, 10), kGigabytePerSecond);
    b.Route(2 * board, 2 * board + 1, {k});
    b.Route(2 * board + 1, 2 * board, {k});
  }
  if (boards == 2) {
    const int root = b.Channel("root", UniformInt(rng, 20), slow, 0, UniformInt(rng, 2) == 0);
    for (int s = 0; s < 4; ++s) {
      for (int d = 0; d < 4; ++d) {
        if (s / 2 != d / 2) b.Route(s, d, {root});
      }
    }
  }
  const int count = 5 + UniformInt(rng, 10);
  for (int v = 0; v < count; ++v) {
    std::vector<int> inputs;
    for (int i = 0; v > 0 && i < 1 + UniformInt(rng, 3); ++i) {
      inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 4)));
    }
    b.Op("op" + std::to_string(v), {UniformInt(rng, 100)}, inputs, UniformInt(rng, 120));
  }
  std::vector<int> labels;
  const bool grouped = UniformInt(rng, 2) == 0;
  for (int v = 0; v < count; ++v) labels.push_back(grouped ? UniformInt(rng, count) : v);
  return b.Build(Grouping(labels));
}

// Every added edge against the times of real steps.
int CheckAddedEdges(Rng& rng, const std::shared_ptr<const Problem>& problem, SegmentLimits limits) {
  DelayGraph graph(*problem);
  AddSegments(graph, limits, kMuch);
  const auto order = problem->graph().topological_order();
  const int n = problem->num_devices();
  int edges = 0;
  for (const SimulatorOptions& options : EverySemantics()) {
    const auto simulator = MakeSimulator(problem, options);
    for (int i = 0; i < 8; ++i) {
      const Placement placement = RandomPlacement(rng, *problem);
      const Outcome outcome = simulator->Evaluate(placement, {.op_times = true});
      for (int b = 0; b < graph.num_ops(); ++b) {
        for (const DelayGraph::Edge& edge : graph.added_into(b)) {
          const int s = placement.device[graph.group(edge.op)];
          const int d = placement.device[graph.group(b)];
          REQUIRE(outcome.start[order[b]] >=
                  outcome.finish[order[edge.op]] + graph.delays(edge.table)[s * n + d]);
          ++edges;
        }
      }
    }
  }
  return edges;
}

TEST_CASE("added delays hold in every step: random problems") {
  Rng rng(41);
  int edges = 0;
  for (int round = 0; round < 300 * EMPLACE_TEST_SCALE; ++round) {
    RandomProblemOptions random;
    random.num_ops = 4 + UniformInt(rng, 20);
    random.num_devices = 2 + UniformInt(rng, 3);
    random.forbidden = UniformInt(rng, 2) == 0;
    edges += CheckAddedEdges(
        rng, RandomProblem(rng, random), SegmentLimits::OfRound(UniformInt(rng, 3)));
  }
  CHECK(edges > 1000);
}

TEST_CASE("added delays hold in every step: forks on equal devices, groups, few nodes") {
  Rng rng(42);
  int edges = 0;
  for (int round = 0; round < 500 * EMPLACE_TEST_SCALE; ++round) {
    SegmentLimits limits = SegmentLimits::OfRound(UniformInt(rng, 3));
    if (UniformInt(rng, 3) == 0) limits.nodes = -5;
    edges += CheckAddedEdges(rng, ForksOnEqualDevices(rng), limits);
  }
  CHECK(edges > 1000);
}

}  // namespace
