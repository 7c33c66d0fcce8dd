// Neighbours from snapshots of the direct run against the plain implementation.

#include "simulator/queue/queue_moves.h"

#include <doctest/doctest.h>

#include "tests/support/lane_problems.h"
#include "tests/support/neighbors.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Groups of random ops instead of single ones. @param single  on which every op may run anywhere
std::shared_ptr<const Problem> InGroups(Rng& rng, const Problem& single) {
  std::vector<int> label;
  const int groups = 1 + UniformInt(rng, single.num_ops());
  for (int v = 0; v < single.num_ops(); ++v) label.push_back(UniformInt(rng, groups));
  return std::make_shared<Problem>(std::make_shared<Graph>(single.graph()),
                                   Grouping(label),
                                   std::make_shared<Cluster>(single.cluster()),
                                   single.costs(),
                                   Objective::kStepTime,
                                   ProblemChecks::kPlacementOnly);
}

// Two rounds in three on a machine that fits direct runs.
std::shared_ptr<const Problem> RandomQueueProblem(Rng& rng, int round) {
  if (round % 3 == 0) return RandomLaneProblem(rng, round / 3);
  const bool forbidden = UniformInt(rng, 4) == 0;
  const auto problem = RandomProblem(rng,
                                     {.num_ops = 1 + UniformInt(rng, round % 10 == 0 ? 200 : 50),
                                      .num_devices = 1 + UniformInt(rng, 5),
                                      .ties = UniformInt(rng, 4) > 0,
                                      .gaps = UniformInt(rng, 2) == 0,
                                      .slots = false,
                                      .shared_channels = UniformInt(rng, 2) == 0,
                                      .egress = UniformInt(rng, 2) == 0,
                                      .hops = false,
                                      .broadcast = UniformInt(rng, 2) == 0,
                                      .host_costs = false,
                                      .occupies = false,
                                      .forbidden = forbidden});
  return forbidden || UniformInt(rng, 2) == 0 ? problem : InGroups(rng, *problem);
}

TEST_CASE("neighbours in queue semantics equal the reference, base after base") {
  Rng rng(3);
  int compared = 0, missing = 0;
  for (int round = 0; round < 150 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomQueueProblem(rng, round);
    const SimulatorOptions options{.semantics = Semantics::kQueue,
                                   .count_gaps = UniformInt(rng, 2) == 0,
                                   .memory = UniformInt(rng, 4) > 0,
                                   .threads = 1 + UniformInt(rng, 2)};
    const auto simulator = MakeSimulator(problem, options);
    Placement base = RandomPlacement(rng, *problem);
    for (int step = 0; step < 4; ++step) {
      const RandomNeighbors neighbors(rng, *problem, 1 + UniformInt(rng, 40));
      std::vector<Placement> placements;
      for (int i = 0; i < neighbors.size(); ++i) placements.push_back(neighbors.Moved(base, i));
      const std::vector<Outcome> expected = ReferenceOutcomes(*problem, placements, options);
      ColumnStorage storage(placements.size(), problem->num_devices());
      ColumnStorage less(placements.size(), problem->num_devices());
      const Neighbors asked{base, neighbors.begin, neighbors.moves};
      simulator->EvaluateNeighbors(asked, storage.columns());
      simulator->EvaluateNeighbors(asked, {.step_time = less.step_time, .deficit = less.deficit});
      for (size_t i = 0; i < placements.size(); ++i) {
        CAPTURE(i);
        REQUIRE(LaneDifference(storage.row(i, *problem), expected[i]) == "");
        REQUIRE(less.step_time[i] == expected[i].step_time);
        REQUIRE(less.deficit[i] == expected[i].deficit());
        ++compared;
        missing += expected[i].deficit() > 0;
      }
      // In between, the engine simulates something else.
      std::vector<std::int64_t> deficit(1);
      simulator->EvaluateRows({placements[0].device.data(), 1, placements[0].device.size()},
                              {.deficit = deficit});
      REQUIRE(deficit[0] == expected[0].deficit());
      // The next base: a neighbour, another one, or the same.
      if (step == 0) base = placements[UniformInt(rng, static_cast<int>(placements.size()))];
      if (step == 1) base = RandomPlacement(rng, *problem);
    }
  }
  MESSAGE(compared << " neighbours, " << missing << " that do not fit");
  CHECK(missing > compared / 20);
}

struct MovesOf {
  explicit MovesOf(const Problem& problem)
      : compiled(problem, EntryOf(Semantics::kQueue).op_order(problem.graph())),
        servers(compiled),
        moves(compiled) {}
  bool SetBase(const std::vector<std::uint8_t>& base, size_t count) {
    return moves.SetBase(base, count, servers);
  }
  bool Run(const std::vector<Move>& of) {
    servers.Reset();
    return moves.Run(of, servers, nullptr);
  }

  const CompiledProblem compiled;
  ServerState servers;
  QueueMoves moves;
};

TEST_CASE("a neighbour in queue semantics begins before its first effect") {
  ProblemBuilder b = Gpus(2);
  std::vector<int> label;
  for (int v = 0; v < 240; ++v) {  // a chain, of which the ops 200 to 239 are one group
    b.Op("op" + std::to_string(v), {10}, v > 0 ? std::vector{v - 1} : std::vector<int>{}, 8);
    label.push_back(std::min(v, 200));
  }
  MovesOf of(*b.Build(Grouping(label)));
  REQUIRE(of.moves.num_snapshots() == 24);  // before ops 0, 10, 20, ...
  REQUIRE(of.SetBase(std::vector<std::uint8_t>(201, 0), 100));
  const auto snapshot = [&](std::vector<Move> moves) { return of.moves.SnapshotFor(moves); };
  CHECK(snapshot({{0, 1}}) == 0);
  CHECK(snapshot({{100, 1}}) == 9);  // op 99 sends what it reads
  CHECK(snapshot({{101, 1}}) == 10);
  CHECK(snapshot({{101, 1}, {35, 1}}) == 3);
  CHECK(snapshot({{101, 1}, {35, 0}}) == 10);  // it is there already
  CHECK(snapshot({{200, 1}}) == 19);           // op 199 sends what the first of them reads
  CHECK(snapshot({}) == 23);
  // A transfer of 8 bytes takes 8 ns and 1 ns of latency.
  REQUIRE(of.Run({{200, 1}}));
  CHECK(of.moves.times().latest == 2400 + 9);
  REQUIRE(of.Run({{101, 1}}));
  CHECK(of.moves.times().latest == 2400 + 2 * 9);
  CHECK(of.moves.device()[101] == 1);
  CHECK(of.moves.device()[239] == 0);
}

TEST_CASE("when neighbours in queue semantics begin in the middle") {
  ProblemBuilder b = Gpus(2);
  b.Op("a", {Nanos{1} << 40});
  b.Op("b", {Nanos{1} << 40}, {0}, 8);
  MovesOf of(*b.Build());
  CHECK_FALSE(of.SetBase({0, 0}, 7));  // too few to pay
  CHECK(of.SetBase({0, 0}, 1));        // the eighth
  CHECK(of.SetBase({0, 0}, 1));
  CHECK_FALSE(of.SetBase({0, 1}, 7));
  CHECK_FALSE(of.SetBase({0, 0}, 1));  // its snapshots are no longer there
  CHECK(of.SetBase({0, 1}, 8));

  // A chain of 200 ops of 2^48 ns: 200 ids take 8 bits of a key, 55 are left for a time.
  ProblemBuilder large = Gpus(2);
  for (int v = 0; v < 200; ++v) {
    large.Op("op" + std::to_string(v),
             {Nanos{1} << 48, 1},
             v > 0 ? std::vector{v - 1} : std::vector<int>{},
             8);
  }
  MovesOf beyond(*large.Build());
  CHECK_FALSE(beyond.SetBase(std::vector<std::uint8_t>(200, 0), 100));
  CHECK_FALSE(beyond.SetBase(std::vector<std::uint8_t>(200, 0), 100));  // remembered
  std::vector<std::uint8_t> fits(200, 1);
  std::fill(fits.begin(), fits.begin() + 127, 0);
  REQUIRE(beyond.SetBase(fits, 100));
  CHECK_FALSE(beyond.Run({{150, 0}}));  // 2^55 ns
  REQUIRE(beyond.Run({{126, 1}}));
  // 126 ops, one transfer of 8 bytes and 1 ns, 74 ops.
  CHECK(beyond.moves.times().latest == 126 * (Nanos{1} << 48) + 8 + 1 + 74);
}

}  // namespace
