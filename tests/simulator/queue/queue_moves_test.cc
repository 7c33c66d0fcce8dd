// Snapshots of the direct run. Random neighbours: tests/simulator/equality_test.cc.

#include "simulator/queue/queue_moves.h"

#include <doctest/doctest.h>

#include "simulator/semantics.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

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

  // A chain of 200 ops of 2^47 ns: 200 ids take 8 of the 62 bits of a key, 54 are left for a time.
  ProblemBuilder large = Gpus(2);
  for (int v = 0; v < 200; ++v) {
    large.Op("op" + std::to_string(v),
             {Nanos{1} << 47, 1},
             v > 0 ? std::vector{v - 1} : std::vector<int>{},
             8);
  }
  MovesOf beyond(*large.Build());
  CHECK_FALSE(beyond.SetBase(std::vector<std::uint8_t>(200, 0), 100));
  CHECK_FALSE(beyond.SetBase(std::vector<std::uint8_t>(200, 0), 100));  // remembered
  std::vector<std::uint8_t> fits(200, 1);
  std::fill(fits.begin(), fits.begin() + 127, 0);
  REQUIRE(beyond.SetBase(fits, 100));
  CHECK_FALSE(beyond.Run({{150, 0}}));  // 2^54 ns
  REQUIRE(beyond.Run({{126, 1}}));
  // 126 ops, one transfer of 8 bytes and 1 ns, 74 ops.
  CHECK(beyond.moves.times().latest == 126 * (Nanos{1} << 47) + 8 + 1 + 74);
}

}  // namespace
