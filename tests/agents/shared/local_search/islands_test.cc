#include "agents/shared/local_search/islands.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/config/setting_error.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("agents with islands keep the contract") {
  CheckAgentContract(AllAgents().Find("genetic", "test"),
                     "{islands: 3, exchange: 20, population: 3, climbs: 1}");
  CheckAgentContract(AllAgents().Find("hill_climb", "test"), "{islands: 4, exchange: 15}");
}

// Keeps to its best placement: nothing it evaluates is better.
class Stuck final : public LocalSearchAgent {
 public:
  explicit Stuck(const AgentContext& context) : LocalSearchAgent("stuck", context) {}

 private:
  void Improve(Evaluator& evaluator) override { evaluator.Evaluate(current().placement); }
  void VisitSearch(StateVisitor&) override {}
};

TEST_CASE("an island that found nothing better gets its neighbour's best, one island a round") {
  // One op: 9 ns on the slow device, 5 ns on the other.
  ProblemBuilder builder;
  for (const char* name : {"slow", "fast"}) builder.Device(name);
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {9, 5});
  const auto problem = builder.Build();
  const auto simulator = MakeSimulator(problem, {});
  std::vector<Stuck*> made;
  Islands islands(
      [&](std::uint64_t seed) {
        auto island = std::make_unique<Stuck>(AgentContext{problem, seed});
        made.push_back(island.get());
        return island;
      },
      4,
      3);
  islands.Begin([] { return 1; });
  REQUIRE(made.size() == 4);
  const ScoredPlacement slow{{{0}}, {0, 9}}, fast{{{1}}, {0, 5}};
  const auto times = [&] {
    std::vector<Nanos> list;
    for (const Stuck* island : made) list.push_back(island->best().score.step_time);
    return list;
  };
  MeteredEvaluator meter(*simulator, {});
  CHECK(islands.Improve(meter, slow).score.step_time == 9);
  CHECK(meter.records().size() == 4 * 3);
  CHECK(times() == std::vector<Nanos>{9, 9, 9, 9});
  islands.Adopt(fast);  // the first one
  CHECK(times() == std::vector<Nanos>{5, 9, 9, 9});
  // Round the ring, one further in each round.
  CHECK(islands.Improve(meter, slow).score.step_time == 5);
  CHECK(times() == std::vector<Nanos>{5, 5, 9, 9});
  islands.Improve(meter, slow);
  CHECK(times() == std::vector<Nanos>{5, 5, 5, 9});
  islands.Improve(meter, slow);
  CHECK(times() == std::vector<Nanos>{5, 5, 5, 5});
}

}  // namespace
