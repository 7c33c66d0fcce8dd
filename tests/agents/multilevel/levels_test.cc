#include "agents/multilevel/levels.h"

#include <vector>

#include <doctest/doctest.h>

#include "agents/shared/local_search/counted_evaluator.h"
#include "framework/schedule/issue_order.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

double CostOf(const Problem& problem, int group) {
  double sum = 0;
  int count = 0;
  for (int d = 0; d < problem.num_devices(); ++d) {
    if (!problem.allowed(group, d)) continue;
    sum += static_cast<double>(problem.group_cost(group, d));
    ++count;
  }
  return sum / count;
}

TEST_CASE("coarser groups are unions of groups on one device, not too dear, with a place to run") {
  Rng rng(5);
  int merged = 0;
  for (int trial = 0; trial < 30; ++trial) {
    const auto fine = MixedProblem(rng, 60, 3, kUnlimitedMemory);
    const Placement placement = RandomPlacement(rng, *fine);
    const double limit = 400;
    const auto coarse = CoarserProblem(*fine, trial % 2 ? &placement : nullptr, limit, rng);
    if (coarse == nullptr) continue;
    merged += fine->num_groups() - coarse->num_groups();
    CHECK(coarse->num_groups() <= 0.95 * fine->num_groups());
    for (int g = 0; g < coarse->num_groups(); ++g) {
      CHECK(coarse->allowed_devices(g) != 0);
      int parts = 0;
      double cost = 0;
      for (int f = 0; f < fine->num_groups(); ++f) {
        const int first = fine->grouping().members(f)[0];
        if (coarse->grouping().group_of(first) != g) continue;
        ++parts;
        cost += CostOf(*fine, f);
        for (const int op : fine->grouping().members(f)) {
          CHECK(coarse->grouping().group_of(op) == g);
        }
        if (trial % 2) {
          const int op = coarse->grouping().members(g)[0];
          CHECK(placement.device[f] == placement.device[fine->grouping().group_of(op)]);
        }
      }
      if (parts > 1) CHECK(cost <= limit + 1e-6);
    }
    if (trial % 2) {
      const Placement coarsened = Coarsen(placement, *fine, *coarse);
      CHECK(Refine(coarsened, *coarse, *fine) == placement);
    }
  }
  CHECK(merged > 0);
}

TEST_CASE("placements and neighbours of a level are those of the original groups") {
  Rng rng(6);
  for (int trial = 0; trial < 10; ++trial) {
    const auto fine = MixedProblem(rng, 60, 2, 200);
    const auto coarse = CoarserProblem(*fine, nullptr, 1e9, rng);
    REQUIRE(coarse != nullptr);
    const auto simulator = MakeSimulator(fine, {}), directly = MakeSimulator(coarse, {});
    LevelEvaluator level(*simulator, *coarse);
    const Placement base = RandomPlacement(rng, *coarse);
    // The simulator of the coarser problem expands groups itself.
    const Outcome expected = directly->Evaluate(base), found = level.Evaluate(base);
    CHECK(found.step_time == expected.step_time);
    CHECK(found.deficit() == expected.deficit());
    std::vector<Move> moves;
    std::vector<int> begin{0};
    for (int i = 0; i < 12; ++i) {
      for (int k = 0; k < 3; ++k) {
        const int group = UniformInt(rng, coarse->num_groups());
        moves.push_back({group, RandomPlacement(rng, *coarse).device[group]});
      }
      begin.push_back(static_cast<int>(moves.size()));
    }
    const Neighbors neighbors{base, begin, moves};
    std::vector<Nanos> time(12), expected_time(12);
    std::vector<std::int64_t> deficit(12), expected_deficit(12);
    level.EvaluateNeighbors(neighbors,
                            {.step_time = time, .deficit = deficit, .peak = {}, .busy = {}});
    directly->EvaluateNeighbors(
        neighbors,
        {.step_time = expected_time, .deficit = expected_deficit, .peak = {}, .busy = {}});
    CHECK(time == expected_time);
    CHECK(deficit == expected_deficit);

    std::vector<DeviceIndex> rows;
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
      std::vector<DeviceIndex> row;
      neighbors.Apply(i, row);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const auto num_groups = static_cast<std::size_t>(coarse->num_groups());
    std::vector<Nanos> row_time(12);
    level.EvaluateRows({rows.data(), 12, num_groups},
                       {.step_time = row_time, .deficit = {}, .peak = {}, .busy = {}});
    CHECK(row_time == expected_time);
  }
}

TEST_CASE("issue orders and concurrent searches pass through wrappers") {
  Rng rng(7);
  const auto fine = MixedProblem(rng, 60, 2, kUnlimitedMemory);
  const auto coarse = CoarserProblem(*fine, nullptr, 1e9, rng);
  REQUIRE(coarse != nullptr);
  const SimulatorOptions options{
      .semantics = Semantics::kStream, .threads = 2, .order_may_change = true};
  const auto simulator = MakeSimulator(fine, options), directly = MakeSimulator(coarse, options);
  CountedEvaluator counted(*simulator);
  LevelEvaluator level(counted, *coarse);
  std::vector<std::int64_t> priority;  // later ops first
  for (int v = 0; v < fine->num_ops(); ++v) priority.push_back(v);
  const std::vector<int> order = IssueOrder(fine->graph(), priority);
  REQUIRE(level.SetIssueOrder(order));
  REQUIRE(directly->SetIssueOrder(order));
  std::vector<Placement> placements;
  for (int i = 0; i < 5; ++i) placements.push_back(RandomPlacement(rng, *coarse));
  std::vector<Nanos> found(5), expected;
  std::vector<ConcurrentSearch> searches(5);
  for (int i = 0; i < 5; ++i) {
    searches[i].run = [&, i](Evaluator& evaluator) {
      CHECK(&evaluator.problem() == coarse.get());
      for (int repeat = 0; repeat <= i; ++repeat) {
        found[i] = evaluator.Evaluate(placements[i]).step_time;
      }
    };
    expected.push_back(directly->Evaluate(placements[i]).step_time);
  }
  level.RunConcurrently(searches);
  CHECK(found == expected);
  CHECK(counted.count() == 1 + 2 + 3 + 4 + 5);
}

}  // namespace
