#include "experiments/problem/proof_in_time.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "simulator/simulator.h"
#include "tests/framework/bounds/optimum.h"
#include "tests/simulator/simulate.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Objectives of all placements that fit, ascending.
std::vector<Nanos> EveryObjective(const std::shared_ptr<const Problem>& problem,
                                  const SimulatorOptions& how) {
  std::vector<Nanos> all;
  for (const Outcome& outcome : MakeSimulator(problem, how)->Evaluate(AllPlacements(*problem))) {
    if (outcome.feasible) all.push_back(outcome.step_time);
  }
  std::ranges::sort(all);
  return all;
}

// At most some 700 placements, whose devices are equal half of the time.
std::shared_ptr<const Problem> SmallCertified(Rng& rng, Semantics semantics) {
  RandomProblemOptions random;
  random.num_devices = 2 + UniformInt(rng, 2);
  random.num_ops = 3 + UniformInt(rng, 9);
  random.ties = UniformInt(rng, 2) == 0;
  random.longest = 1000;
  random.interference = semantics == Semantics::kInterference;
  std::shared_ptr<const Problem> problem = RandomProblem(rng, random);
  if (UniformInt(rng, 2) == 0) problem = WithEqualKinds(*problem);
  std::vector<int> label;
  const int most_groups = random.num_devices == 2 ? 9 : 6;
  for (int v = 0; v < random.num_ops; ++v) label.push_back(UniformInt(rng, most_groups));
  const Objective objective = UniformInt(rng, 3) == 0 ? Objective::kPeriod : Objective::kStepTime;
  return std::make_shared<Problem>(std::make_shared<Graph>(problem->graph()),
                                   Grouping(label),
                                   std::make_shared<Cluster>(problem->cluster()),
                                   problem->costs(),
                                   objective,
                                   ProblemChecks::kPlacementOnly);
}

TEST_CASE("random problems: never above the optimum, and the optimum where it says so") {
  constexpr double kEnough = 60;  // [s]
  Rng rng(71);
  int optimal = 0, better = 0, unfit = 0;
  for (const Semantics semantics : AllSemantics()) {
    for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
      CAPTURE(round);
      const auto problem = SmallCertified(rng, semantics);
      SimulatorOptions how{.semantics = semantics, .count_gaps = UniformInt(rng, 2) == 0};
      if (EntryOf(semantics).has_issue_order && UniformInt(rng, 2) == 0) {
        how.issue_order = RandomIssueOrder(rng, problem->graph());
      }
      const std::vector<Nanos> all = EveryObjective(problem, how);
      ProofTask task{.problem = problem, .how = how};
      if (all.empty()) {
        task.seconds = kEnough;
        CHECK(ProveInTime(task).ended == "no placement fits (proved by branch_and_bound)");
        ++unfit;
        continue;
      }
      const Nanos optimum = all.front();
      const Nanos best =
          all[UniformInt(rng, 3) == 0 ? UniformInt(rng, static_cast<int>(all.size())) : 0];
      if (UniformInt(rng, 4) > 0) task.best = best;
      if (UniformInt(rng, 4) == 0) task.proved = {optimum / 2, "earlier"};
      for (const double seconds : {0.0, 1e-4, kEnough}) {
        task.seconds = seconds;
        Nanos least = -1;
        task.improved = [&](const LowerBound& bound) {
          CHECK(bound.value > least);
          least = bound.value;
        };
        const Certificate certificate = ProveInTime(task);
        CAPTURE(certificate.ended);
        REQUIRE(certificate.bound.value <= optimum);
        if (certificate.ended.starts_with("the best placement is proved optimal")) {
          REQUIRE(certificate.bound.value == task.best);
        }
        if (certificate.found)
          REQUIRE(certificate.found->objective < task.best.value_or(kMaxNanos));
        if (seconds < kEnough) continue;
        REQUIRE(certificate.bound.value == optimum);
        const bool is_best = task.best == optimum;
        REQUIRE(certificate.ended.starts_with(is_best ? "the best placement is proved optimal by "
                                                      : "the optimum is "));
        if (is_best) {
          ++optimal;
        } else {
          REQUIRE(certificate.found->objective == optimum);
          ++better;
        }
      }
    }
  }
  CHECK(optimal > 50);
  CHECK(better > 20);
  CHECK(unfit > 0);
}

TEST_CASE("a bound of one order is none of every order") {
  Rng rng(72);
  int looser = 0, by_tree = 0;
  for (int round = 0; round < 100 * EMPLACE_TEST_SCALE; ++round) {
    CAPTURE(round);
    RandomProblemOptions random;
    random.num_ops = 4 + UniformInt(rng, 3);
    random.num_devices = 2;
    random.longest = 1000;
    random.tight_memory = false;
    const auto problem = RandomProblem(rng, random);
    SimulatorOptions how{.semantics = Semantics::kStream, .order_may_change = true};
    const std::vector<Nanos> by_id = EveryObjective(problem, how);
    Nanos optimum = by_id.front();
    for (int i = 0; i < 30; ++i) {
      how.issue_order = RandomIssueOrder(rng, problem->graph());
      optimum = std::min(optimum, EveryObjective(problem, how).front());
    }
    how.issue_order.clear();
    const Certificate certificate =
        ProveInTime({.problem = problem, .how = how, .best = by_id.front(), .seconds = 1});
    REQUIRE(certificate.bound.value <= optimum);
    by_tree += certificate.bound.method == "branch_and_bound";
    if (certificate.bound.value == by_id.front()) continue;
    ++looser;
    CHECK(certificate.ended ==
          "every method has ended: segment search is complete; branch and bound is complete, with "
          "bounds that hold in every issue order");
    CHECK(!certificate.found);
  }
  CHECK(looser > 5);
  CHECK(by_tree > 0);
}

TEST_CASE("why a proof ends") {
  ProblemBuilder large = Gpus(2);
  for (int v = 0; v < kMostTreeGroups + 1; ++v) {
    large.Op("op" + std::to_string(v), {10}, {}, 0);
  }
  const auto problem = large.Build();
  // 513 ops of 10 ns on two devices: 2565 ns of work, but no split of whole ops takes less than
  // 2570.
  ProofTask task{.problem = problem, .best = 2600, .seconds = 0.2};
  Certificate certificate = ProveInTime(task);
  CHECK(certificate.bound.value >= 2565);
  CHECK(Contains(certificate.ended,
                 "branch and bound takes at most 512 groups; this problem has 513"));
  task.seconds = 0;
  CHECK(ProveInTime(task).ended == "time is up");

  task.interrupt = Interrupt([] { return true; });
  CHECK_THROWS_AS(ProveInTime(task), Interrupted);
}

}  // namespace
