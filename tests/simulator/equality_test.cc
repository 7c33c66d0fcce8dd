// Every evaluator of the simulator against the plain implementation, to the nanosecond and the
// byte.

#include <set>

#include "tests/simulator/simulate.h"
#include "tests/support/lane_problems.h"
#include "tests/support/sanitizers.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

bool Chance(Rng& rng, double probability) {
  return Uniform01(rng) < probability;
}

std::shared_ptr<const Problem> AnyProblem(Rng& rng, int) {
  return RandomProblem(rng,
                       {.num_ops = 1 + UniformInt(rng, 40),
                        .num_devices = 1 + UniformInt(rng, 5),
                        .ties = Chance(rng, 0.6),
                        .cold_reads = Chance(rng, 0.3),
                        .interference = Chance(rng, 0.3),
                        .forbidden = Chance(rng, 0.5)});
}

// Two rounds in three on a machine that fits direct runs of queue semantics.
std::shared_ptr<const Problem> QueueProblem(Rng& rng, int round) {
  if (round % 3 == 0) return RandomLaneProblem(rng, round / 3);
  const RandomProblemOptions options = OneHopOptions(rng, round);
  const auto problem = RandomProblem(rng, options);
  return options.forbidden || Chance(rng, 0.5) ? problem : InGroups(rng, *problem);
}

// Some kinds do not pay for transfers; ops in groups in half of the rounds.
std::shared_ptr<const Problem> PeriodProblem(Rng& rng, int) {
  const bool grouped = Chance(rng, 0.5);
  auto steps = RandomProblem(rng,
                             {.num_ops = 1 + UniformInt(rng, 60),
                              .num_devices = 1 + UniformInt(rng, 5),
                              .ties = Chance(rng, 0.7),
                              .forbidden = !grouped});
  if (grouped) steps = InGroups(rng, *steps);
  const Cluster& cluster = steps->cluster();
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  for (DeviceKind& kind : kinds) kind.pays_transfers = Chance(rng, 0.7);
  std::vector<std::vector<int>> routes;
  for (int from = 0; from < cluster.num_devices(); ++from) {
    for (int to = 0; to < cluster.num_devices(); ++to) {
      const auto route = cluster.route(from, to);
      routes.emplace_back(route.begin(), route.end());
    }
  }
  return std::make_shared<Problem>(
      std::make_shared<Graph>(steps->graph()),
      steps->grouping(),
      std::make_shared<Cluster>(
          cluster.name(),
          kinds,
          std::vector<Device>(cluster.devices().begin(), cluster.devices().end()),
          std::vector<Channel>(cluster.channels().begin(), cluster.channels().end()),
          routes),
      steps->costs(),
      Objective::kPeriod,
      ProblemChecks::kPlacementOnly);
}

struct Family {
  const char* name;
  std::vector<Semantics> semantics;  // in turn
  std::shared_ptr<const Problem> (*make)(Rng& rng, int round);
  int rounds, most_placements;
};

TEST_CASE("every evaluator equals the plain implementation") {
  const Family families[] = {
      {"any problem", AllSemantics(), &AnyProblem, 900, 10},
      {"lanes", {Semantics::kStream}, &RandomLaneProblem, 250, 60},
      {"direct runs", {Semantics::kQueue}, &QueueProblem, 200, 40},
      {"period", AllSemantics(), &PeriodProblem, 120, 50},
  };
  Rng rng(1);
  for (const Family& family : families) {
    CAPTURE(family.name);
    Compared all;
    for (int round = 0; round < family.rounds * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++round) {
      CAPTURE(round);
      const auto problem = family.make(rng, round);
      SimulatorOptions options{
          .semantics = family.semantics[round % family.semantics.size()],
          .count_gaps = Chance(rng, 0.5),
          .memory = problem->objective() == Objective::kPeriod || Chance(rng, 0.75),
          .threads = 1 + UniformInt(rng, 3),
          .channel_contention = Chance(rng, 0.8),
          .order_may_change = Chance(rng, 0.3),
          .most_lanes = kLaneWidths[UniformInt(rng, 2)]};
      CAPTURE(ToString(options.semantics));
      const bool has_order = EntryOf(options.semantics).has_issue_order &&
                             problem->objective() == Objective::kStepTime;
      if (has_order && Chance(rng, 0.5)) {
        options.issue_order = RandomIssueOrder(rng, problem->graph());
      }
      const auto simulator = MakeSimulator(problem, options);
      const Compared compared = CheckEvaluator(*simulator, options, rng, family.most_placements);
      all.outcomes += compared.outcomes;
      all.unfit += compared.unfit;
      if (options.order_may_change) {
        const std::vector<int> order = RandomIssueOrder(rng, problem->graph());
        REQUIRE(simulator->SetIssueOrder(order) == has_order);
        if (has_order) options.issue_order = order;
        CheckEvaluator(*simulator, options, rng, 3);
      }
      const std::vector<Evaluator*> concurrent = simulator->ConcurrentEvaluators(2),
                                    more = simulator->ConcurrentEvaluators(7);
      REQUIRE(std::ssize(more) == options.threads);
      REQUIRE(std::set(more.begin(), more.end()).size() == more.size());
      REQUIRE(concurrent == std::vector(more.begin(), more.begin() + std::min(2, options.threads)));
      REQUIRE(&more.back()->problem() == problem.get());
      CheckEvaluator(*more.back(), options, rng, 3);
    }
    MESSAGE(family.name << ": " << all.outcomes << " outcomes, " << all.unfit << " do not fit");
    CHECK(all.unfit > all.outcomes / 20);
  }
}

TEST_CASE("placements and moves that do not fit the problem are refused") {
  for (const SimulatorOptions& options : EverySemantics()) {
    CheckRefusals([&](auto problem) { return MakeSimulator(problem, options); });
  }
  CheckRefusals([](auto problem) { return MakeSimulator(problem, {}); }, Objective::kPeriod);
}

}  // namespace
