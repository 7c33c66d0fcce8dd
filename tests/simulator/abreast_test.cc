// Evaluators for several threads, of one simulator.

#include <set>
#include <vector>

#include "framework/base/random.h"
#include "framework/schedule/issue_order.h"
#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("evaluators abreast: as many as threads, each with the simulator's outcomes") {
  Rng rng(3);
  for (SimulatorOptions options : EverySemantics()) {
    const auto problem = RandomProblem(rng, {});
    options.threads = 3;
    const auto simulator = MakeSimulator(problem, options);
    CHECK(simulator->Abreast(1).size() == 1);
    const std::vector<Evaluator*> two = simulator->Abreast(2), all = simulator->Abreast(7);
    REQUIRE(all.size() == 3);
    CHECK(std::set(all.begin(), all.end()).size() == 3);
    CHECK(two == std::vector(all.begin(), all.begin() + 2));
    for (int i = 0; i < 5; ++i) {
      const Placement placement = RandomPlacement(rng, *problem);
      const Outcome expected = simulator->Evaluate(placement);
      for (Evaluator* evaluator : all) {
        CHECK(&evaluator->problem() == problem.get());
        const Outcome outcome = evaluator->Evaluate(placement);
        CHECK(outcome.step_time == expected.step_time);
        CHECK(outcome.deficit() == expected.deficit());
      }
    }
  }
}

TEST_CASE("evaluators abreast follow an issue order that was set before") {
  Rng rng(4);
  for (int i = 0; i < 20; ++i) {
    const auto problem = RandomProblem(rng, {});
    SimulatorOptions options = kS;
    options.threads = 2;
    options.order_may_change = true;
    const auto simulator = MakeSimulator(problem, options);
    simulator->Abreast(2);
    std::vector<std::int64_t> priority(problem->num_ops());
    for (std::int64_t& p : priority) p = static_cast<std::int64_t>(rng() % 100);
    options.issue_order = IssueOrder(problem->graph(), priority);
    REQUIRE(simulator->SetIssueOrder(options.issue_order));
    const Placement placement = RandomPlacement(rng, *problem);
    const Nanos expected = MakeSimulator(problem, options)->Evaluate(placement).step_time;
    for (Evaluator* evaluator : simulator->Abreast(2)) {
      CHECK(evaluator->Evaluate(placement).step_time == expected);
    }
  }
}

}  // namespace
