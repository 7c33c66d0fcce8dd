#include "agents/period_multilevel/period_multilevel.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "agents/max_load_dp/chain_split.h"
#include "framework/config/setting_error.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/layered_periods.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Nanos FoundByMultilevel(const std::shared_ptr<const Problem>& problem,
                        int evaluations,
                        const PeriodMultilevelConfig& config) {
  PeriodMultilevelAgent agent({problem, 1}, config);
  const MeteredEvaluator::Best best = RunAgent(agent, problem, evaluations).best;
  CHECK(best.outcome.feasible);
  return best.outcome.step_time;
}

TEST_CASE("multilevel search finds an optimum known by hand: dear transfers hide it from moves") {
  // Two rings of four ops, 10 each, with 30 to move any output, joined by an output of 1. Two
  // devices: a ring each, 40 + 1. Any other way to share the work parts a ring: 30 on either side.
  ProblemBuilder b;
  b.Device("p");
  b.Device("q");
  b.AllToAll(0, kGigabytePerSecond);
  for (int ring = 0; ring < 2; ++ring) {
    const int first = 4 * ring;
    b.Op("r" + std::to_string(first), {10}, ring == 0 ? std::vector<int>{} : std::vector{3}, 30);
    for (int v = first + 1; v < first + 4; ++v) {
      b.Op("r" + std::to_string(v), {10}, {v - 1}, v == 3 ? 1 : 30);
    }
  }
  const auto problem = WithObjective(*b.Build(), Objective::kPeriod);
  CHECK(FoundByMultilevel(problem, 3, {.effort = 20}) == 41);
}

TEST_CASE("multilevel search is better than the split that it begins with") {
  Rng rng(1);
  const auto problem = LayeredPeriod(rng, {.layers = 2, .num_devices = 3});
  const SplitOfGroups split = Split(CompiledPeriod(*problem), 0);
  const Nanos start = MakeSimulator(problem, {})->Evaluate(split.placement).step_time;
  CHECK(FoundByMultilevel(problem, 6, {.population = 2, .effort = 50}) < start);
}

}  // namespace
