#include "experiments/stress/stress.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr double kNoFit = std::numeric_limits<double>::infinity();

// a (100) sends 110 B over a link of 1 B/ns with a latency of 10 to b, which takes 100 on gpu:1 and
// 300 on gpu:0: 320 on both, 400 on gpu:0. With the slow link 100 + 240 + 100 = 440 on both.
std::shared_ptr<const Problem> Linked() {
  ProblemBuilder builder = Gpus(2, 10);
  builder.Op("a", {100}, {}, 110);
  builder.Op("b", {300, 100}, {0});
  return builder.Build();
}

const Candidate kBoth{.label = "both", .placement = {{0, 1}}, .searched = {}};
const Candidate kOne{.label = "one", .placement = {{0, 0}}, .searched = {}};

const StressScenario& ScenarioOf(const StressResult& result, const std::string& name) {
  for (const StressScenario& scenario : result.scenarios) {
    if (scenario.name == name) return scenario;
  }
  throw std::runtime_error("no scenario " + name);
}

StressOptions Small() {
  StressOptions options;
  options.draws = 20;
  options.adversary = {.range = 0.1, .steps = 20, .chains = 2};
  options.jobs = 1;
  return options;
}

TEST_CASE("slower links turn the order round, other semantics do not, against hand calculations") {
  const StressResult result = Stress(Linked(), {}, {kOne, kBoth}, Small());
  REQUIRE(result.labels.size() == 2);
  CHECK(result.labels[0] == "both");
  CHECK(result.step_times == std::vector<Nanos>{320, 400});
  const StressScenario& slow = ScenarioOf(result, "slow_links");
  CHECK(slow.step_times == std::vector<std::vector<Nanos>>{{440, 400}});
  CHECK(slow.kendall_tau == -1);
  CHECK(slow.top_share == 0);
  CHECK(slow.regret == doctest::Approx(0.1));
  CHECK(slow.worst_regret == doctest::Approx(0.1));
  CHECK(slow.regret_ns == 40);
  const StressScenario& stream = ScenarioOf(result, "semantics_stream");
  CHECK(stream.step_times == std::vector<std::vector<Nanos>>{{320, 400}});
  CHECK(stream.kendall_tau == 1);
  CHECK(stream.top_share == 1);
  CHECK(stream.regret == 0);
  CHECK(ScenarioOf(result, "noise").step_times.size() == 20);
  REQUIRE(result.adversary);
  // 120 l + 100 f > 300 f needs l / f > 5/3: epsilon 1/4, beyond the range.
  CHECK_FALSE(result.adversary->epsilon);
}

TEST_CASE("noise: the figures are those of its draws") {
  StressOptions options = Small();
  options.noise = 0.5;
  const StressResult result = Stress(Linked(), {}, {kOne, kBoth}, options);
  const StressScenario& noise = ScenarioOf(result, "noise");
  int kept = 0, concordant = 0;
  double regret = 0, other = 0, worst = 0;
  for (const auto& times : noise.step_times) {
    const Nanos best = std::min(times[0], times[1]);
    kept += times[0] == best;
    concordant += times[0] < times[1] ? 1 : -1;
    const double lost = static_cast<double>(times[0]) / static_cast<double>(best) - 1;
    regret += lost / 20;
    worst = std::max(worst, lost);
    other += (static_cast<double>(times[1]) / static_cast<double>(best) - 1) / 20;
  }
  CHECK(kept > 0);
  CHECK(kept < 20);  // noise of this size turns the order round now and then
  CHECK(noise.top_share == doctest::Approx(kept / 20.0));
  CHECK(noise.kendall_tau == doctest::Approx(concordant / 20.0));
  CHECK(noise.regret == doctest::Approx(regret));
  CHECK(noise.worst_regret == doctest::Approx(worst));
  REQUIRE(result.noise_regret.size() == 2);
  CHECK(result.noise_regret[0] == doctest::Approx(regret));
  CHECK(result.noise_regret[1] == doctest::Approx(other));

  options.jobs = 3;
  CHECK(ScenarioOf(Stress(Linked(), {}, {kOne, kBoth}, options), "noise").step_times ==
        noise.step_times);
  options.seed = 1;
  CHECK(ScenarioOf(Stress(Linked(), {}, {kOne, kBoth}, options), "noise").step_times !=
        noise.step_times);
  options.noise = 0;
  const StressResult without = Stress(Linked(), {}, {kOne, kBoth}, options);
  for (const auto& times : ScenarioOf(without, "noise").step_times) {
    CHECK(times == result.step_times);
  }
}

TEST_CASE("equal placements count once; one alone has neither rank nor adversary") {
  Candidate again = kBoth;
  again.label = "again";
  const StressResult result = Stress(Linked(), {}, {kBoth, again}, Small());
  CHECK(result.labels.size() == 1);
  CHECK_FALSE(result.adversary);
  CHECK(std::isnan(ScenarioOf(result, "noise").kendall_tau));
  CHECK(ScenarioOf(result, "noise").top_share == 1);
  CHECK(result.noise_regret == std::vector<double>{0});
}

TEST_CASE("what does not fit is left out") {
  ProblemBuilder builder;
  builder.Device("gpu:0", 50);
  builder.Device("gpu:1", 500);
  builder.AllToAll(1, kGigabytePerSecond);
  builder.Op("a", {100}, {}, 110);
  const auto problem = builder.Build();
  const Candidate fits{.label = "fits", .placement = {{1}}, .searched = {}};
  const Candidate does_not{.label = "large", .placement = {{0}}, .searched = {}};
  CHECK(Stress(problem, {}, {does_not, fits}, Small()).labels.size() == 1);
  CHECK(Contains(MessageOf<InputError>([&] { Stress(problem, {}, {does_not}, Small()); }),
                 "no placement fits: large: OOM (missing 60 B on gpu:0)"));
}

TEST_CASE("the period has no semantics") {
  ProblemBuilder builder = Gpus(2, 10);
  builder.Op("a", {100}, {}, 110);
  builder.Op("b", {300, 100}, {0});
  const auto built = builder.Build();
  const auto problem =
      std::make_shared<const Problem>(std::shared_ptr<const Graph>(built, &built->graph()),
                                      built->grouping(),
                                      builder.BuildCluster(),
                                      built->costs(),
                                      Objective::kPeriod);
  const StressResult result = Stress(problem, {}, {kOne, kBoth}, Small());
  REQUIRE(result.scenarios.size() == 2);
  // Load of gpu:1: 100 + 120, of gpu:0 as much; twice the transfer: 340.
  CHECK(result.step_times == std::vector<Nanos>{220, 400});
  CHECK(ScenarioOf(result, "slow_links").step_times == std::vector<std::vector<Nanos>>{{340, 400}});
}

TEST_CASE("progress, and giving up") {
  StressOptions options = Small();
  int last = 0, total = 0;
  options.progress = [&](int done, int all) {
    CHECK(done == last + 1);
    last = done;
    total = all;
  };
  Stress(Linked(), {}, {kOne, kBoth}, options);
  CHECK(total == 20 + 2 * 20);
  CHECK(last == total);
  options.stop = [] { return true; };
  CHECK(MessageOf<RunError>([&] {
          Stress(Linked(), {}, {kOne, kBoth}, options);
        }) == "stopped; nothing of this problem was written");
}

TEST_CASE("regret") {
  const std::vector<double> regrets = RegretsOf({kMaxNanos, 100, 150, 100});
  CHECK(regrets == std::vector<double>{kNoFit, 0, 0.5, 0});
  CHECK(RegretsOf({kMaxNanos, kMaxNanos}) == std::vector<double>{kNoFit, kNoFit});
}

}  // namespace
