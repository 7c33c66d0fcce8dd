// What a network is told of moves, by hand and on random problems.

#include "agents/shared/move_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/shared/moves.h"
#include "simulator/simulator.h"
#include "tests/agents/shared/two_gpus.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using doctest::Approx;

std::map<std::string, double> Named(MoveFeatures& features, const std::vector<Move>& moves) {
  std::vector<float> row(MoveFeatures::kCount);
  features.Write(moves, row);
  std::map<std::string, double> named;
  for (int i = 0; i < MoveFeatures::kCount; ++i) named[MoveFeatures::Names()[i]] = row[i];
  CHECK(named.size() == MoveFeatures::kCount);
  return named;
}

double Share(double nanoseconds) {
  return std::sqrt(nanoseconds / 260);
}

TEST_CASE("a group without edges goes to the other device") {
  const TwoGpus example;
  MoveFeatures features(*example.problem);
  features.Set(example.placement, example.outcome);
  auto row = Named(features, {{2, 1}});
  CHECK(row["sqrt(cost before)"] == Approx(Share(60)));
  CHECK(row["sqrt(cost after)"] == Approx(Share(60)));
  CHECK(row["sqrt(cost before - after)"] == 0);
  CHECK(row["load of the first device"] == Approx(160 / 260.0));
  CHECK(row["load of its aim"] == Approx(100 / 260.0));
  CHECK(row["sqrt(largest load after - before)"] == Approx(0).epsilon(1e-3));
  CHECK(row["sqrt(least slack)"] == Approx(Share(100)));
  CHECK(row["sqrt(critical time)"] == 0);
  CHECK(row["sqrt(waits)"] == Approx(Share(100)));
  CHECK(row["sqrt(longest wait)"] == Approx(Share(100)));
  CHECK(row["first start"] == Approx(100 / 260.0));
  CHECK(row["sqrt(first start to last end)"] == Approx(Share(60)));
  CHECK(row["sqrt(messages that begin)"] == 0);
  CHECK(row["sqrt(messages that end)"] == 0);
  CHECK(row["log2(groups) / 4"] == 0);
  CHECK(row["work of the first device meanwhile"] == Approx(1).epsilon(0.02));
  CHECK(row["work of the aim meanwhile"] == Approx(0).epsilon(0.02));
  CHECK(row["memory of the aim after"] == 0);
  CHECK(row["does not fit"] == 0);
  CHECK(row["mean load"] == Approx(130 / 260.0));
  CHECK(row["least work over step time"] == 1);  // 260 of work
}

TEST_CASE("a message ends with the move of its sender, begins with that of both ends apart") {
  const TwoGpus example;
  MoveFeatures features(*example.problem);
  features.Set(example.placement, example.outcome);
  auto together = Named(features, {{0, 1}});
  CHECK(together["sqrt(messages that end)"] == Approx(Share(60)));
  CHECK(together["sqrt(critical messages that end)"] == Approx(Share(60)));
  CHECK(together["sqrt(messages before - after)"] == Approx(Share(60)));
  CHECK(together["log(1 + messages that end)"] == Approx(std::log(2)));
  CHECK(together["sqrt(largest load after - before)"] == Approx(Share(40)));  // 200 on gpu:1
  CHECK(together["critical share of the cost"] == Approx(1));
  // Both change places: the message is as long as it was, and is counted once.
  auto exchanged = Named(features, {{0, 1}, {1, 0}});
  CHECK(exchanged["sqrt(messages that end)"] == 0);
  CHECK(exchanged["sqrt(messages that change, after - before)"] == 0);
  CHECK(exchanged["several aims"] == 1);
  CHECK(exchanged["log2(groups) / 4"] == 0.25);

  const Placement one{{0, 0, 0}};
  features.Set(one, MakeSimulator(example.problem, {})->Evaluate(one, {.op_times = true}));
  auto apart = Named(features, {{1, 1}});
  CHECK(apart["sqrt(messages that begin)"] == Approx(Share(60)));  // one GPU needs 260, too
  CHECK(apart["sqrt(messages before - after)"] == Approx(-Share(60)));
}

TEST_CASE("moves of random problems have finite features, the same when asked again") {
  Rng rng(7);
  for (int round = 0; round < 40 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.forbidden = round % 2 == 0});
    const MoveProposer proposer(*problem, {}, "moves");
    if (!proposer.any()) continue;
    const Placement placement = RandomPlacement(rng, *problem);
    MoveFeatures features(*problem);
    features.Set(placement,
                 MakeSimulator(problem, {})->Evaluate(placement, {.op_times = round % 3 != 0}));
    MoveLists lists;
    for (int i = 0; i < 20; ++i) proposer.Propose(rng, placement, lists);
    const Neighbors neighbors = lists.Of(placement);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      std::vector<Move> moves(neighbors.of(i).begin(), neighbors.of(i).end());
      std::vector<float> row(MoveFeatures::kCount), again(MoveFeatures::kCount);
      features.Write(moves, row);
      CHECK(
          std::ranges::all_of(row, [](float x) { return std::isfinite(x) && std::abs(x) < 1e4F; }));
      features.Write(moves, again);
      CHECK(row == again);
    }
  }
}

}  // namespace
