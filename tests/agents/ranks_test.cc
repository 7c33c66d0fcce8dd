// Every agent over 1, 2, 4 and 8 ranks: the same evaluations, the same state after every step.

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/search/distributed_evaluator.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/problems.h"
#include "tests/support/sanitizers.h"
#include "tests/support/thread_ranks.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

struct RankCase {
  std::string agent, settings = "{}";
  std::int64_t evaluations = kUnderSanitizers ? 40 : 150;
};

std::string SettingsOf(const std::string& agent) {
  return agent == "expert" ? "{rules: [{match: \"*\", device: \"*\"}]}" : "{}";
}

/// What a search did, as text: each evaluation, the best placement, the agent's state in the end.
std::string Told(const RankCase& what,
                 const std::shared_ptr<const Problem>& problem,
                 Evaluator& evaluator,
                 DistributedEvaluator* distributed) {
  MeteredEvaluator meter(evaluator, {.evaluations = what.evaluations});
  const auto agent = AllAgents()
                         .Find(what.agent, "test")
                         .make({problem, 7}, ConfigNode::FromString(what.settings, "test"));
  std::ostringstream told;
  int steps = 0;
  try {
    for (; !agent->Finished() && meter.remaining() > 0; ++steps) {
      if (distributed != nullptr) distributed->BetweenSteps();
      told.str("");
      agent->Save(told);
      agent->Step(meter);
    }
  } catch (const BudgetExhausted&) {
    told << "within ";
  }
  told << "step " << steps << '\n';
  for (const EvaluationRecord& record : meter.records()) {
    told << record.step_time << ' ' << record.best_step_time << ' ' << record.feasible << '\n';
  }
  REQUIRE(meter.best());
  for (const DeviceIndex device : meter.best()->placement.device) told << int{device} << ' ';
  told << meter.best()->index << ' ' << meter.best()->outcome.devices.size();
  return told.str();
}

void CheckRanks(const RankCase& what) {
  CAPTURE(what.agent);
  Rng rng(5);
  const AgentEntry& entry = AllAgents().Find(what.agent, "test");
  auto problem = MixedProblem(rng, 24, 3, kUnlimitedMemory);
  if (entry.objective) problem = WithObjective(*problem, *entry.objective);
  const SimulatorOptions options{.semantics = Semantics::kStream, .order_may_change = true};
  const auto alone = MakeSimulator(problem, options);
  const std::string expected = Told(what, problem, *alone, nullptr);
  for (const int size : kUnderSanitizers ? std::vector{2} : std::vector{1, 3, 8}) {
    CAPTURE(size);
    std::vector<std::string> told(size);
    RunThreadRanks(size, [&](Communicator& ranks) {
      ReplicatedSearch replicated(ranks);
      const auto simulator = MakeSimulator(problem, options);
      DistributedEvaluator evaluator(*simulator, replicated, 1);  // every batch is shared out
      REQUIRE(replicated.Begin(0, true));
      told[ranks.rank()] = Told(what, problem, evaluator, &evaluator);
      replicated.End("done");
    });
    for (const std::string& text : told) CHECK((text == expected));
  }
}

TEST_CASE("every agent searches the same over any number of ranks") {
  for (const AgentEntry& entry : AllAgents().entries()) {
    CheckRanks({entry.name, SettingsOf(entry.name)});
  }
}

TEST_CASE("searches that share what they found do, too, for many rounds") {
  CheckRanks({"portfolio", "{turn: 40}", 2000});
  CheckRanks({"portfolio", "{turn: 40, concurrent: 7}", 2000});
  CheckRanks({"genetic", "{islands: 5, exchange: 60, population: 4, climbs: 2}", 2000});
  CheckRanks({"hill_climb", "{islands: 3, exchange: 50, patience: 4}", 2000});
}

}  // namespace
