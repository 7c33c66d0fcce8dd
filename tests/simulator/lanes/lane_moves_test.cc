// Neighbours from snapshots against the plain implementation.

#include "simulator/lanes/lane_moves.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/schedule/issue_order.h"
#include "tests/support/lane_problems.h"
#include "tests/support/neighbors.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("neighbours equal the reference, base after base") {
  Rng rng(12);
  int compared = 0;
  for (int round = 0; round < 150 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    const auto problem = RandomLaneProblem(rng, round);
    for (const int width : kLaneWidths) {
      SimulatorOptions options{.semantics = Semantics::kStream,
                               .count_gaps = round % 2 == 0,
                               .memory = round % 4 != 3,
                               .threads = 1 + round % 2,
                               .most_lanes = width};
      CAPTURE(width);
      const auto simulator = MakeSimulator(problem, options);
      Placement base = RandomPlacement(rng, *problem);
      for (int step = 0; step < 4; ++step) {
        const RandomNeighbors neighbors(rng, *problem, 1 + UniformInt(rng, 60));
        const std::vector<Placement> placements = neighbors.Placements(base);
        const std::vector<Outcome> expected = ReferenceOutcomes(*problem, placements, options);
        ColumnStorage storage(placements.size(), problem->num_devices());
        simulator->EvaluateNeighbors({base, neighbors.begin, neighbors.moves}, storage.columns());
        for (size_t i = 0; i < placements.size(); ++i) {
          CAPTURE(i);
          REQUIRE(LaneDifference(storage.row(i, *problem), expected[i]) == "");
          ++compared;
        }
        // The next base: a neighbour, another one, or the same.
        if (step == 0) base = placements[UniformInt(rng, static_cast<int>(placements.size()))];
        if (step == 1) base = RandomPlacement(rng, *problem);
      }
    }
  }
  MESSAGE(compared << " neighbours");
}

TEST_CASE("a neighbour begins where it differs") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name, kUnlimitedMemory);
  b.AllToAll(1'000, {1'000'000'000, 1});
  for (int v = 0; v < 240; ++v) {  // a chain
    b.Op("op" + std::to_string(v),
         {10, 10},
         v > 0 ? std::vector<int>{v - 1} : std::vector<int>{},
         8);
  }
  const auto problem = b.Build();
  const LaneProgram program(CompiledProblem(*problem, IssueOrder(problem->graph())), {});
  const LaneKernel* kernel = FindLaneKernel(16);
  if (kernel == nullptr) return;  // a processor without AVX2
  LaneMoves moves(program, *kernel);
  REQUIRE(moves.num_snapshots() == 24);  // before ops 0, 10, 20, ...
  moves.SetBase(std::vector<std::uint8_t>(240, 0), false);
  const auto snapshot = [&](std::vector<Move> of) { return moves.SnapshotFor(of); };
  CHECK(snapshot({{0, 1}}) == 0);
  CHECK(snapshot({{100, 1}}) == 9);  // op 99 sends what it reads
  CHECK(snapshot({{101, 1}}) == 10);
  CHECK(snapshot({{101, 1}, {35, 1}}) == 3);
  CHECK(snapshot({{101, 1}, {35, 0}}) == 10);  // it is there already
  CHECK(snapshot({}) == 23);
}

TEST_CASE("moves that cannot be are refused") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory);
  b.Op("a", {1}, {}, 8);
  const auto problem = b.Build();
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const Placement base{{0}};
  const auto evaluate = [&](Move move) {
    const std::vector<int> begin{0, 1};
    const std::vector<Move> moves{move};
    std::vector<Nanos> times(1);
    simulator->EvaluateNeighbors({base, begin, moves}, {.step_time = times});
  };
  CHECK_NOTHROW(evaluate({0, 0}));
  CHECK_THROWS_WITH_AS(evaluate({1, 0}), "move: group 1; the problem has 1", InputError);
  CHECK_THROWS_WITH_AS(evaluate({0, 3}),
                       "placement: group 0 (op \"a\", test) may not run on device 3: there are 1",
                       InputError);
}

}  // namespace
