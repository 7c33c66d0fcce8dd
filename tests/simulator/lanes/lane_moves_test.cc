// Snapshots of lanes. Random neighbours: tests/simulator/equality_test.cc.

#include "simulator/lanes/lane_moves.h"

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

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

}  // namespace
