#include "experiments/stress/adversary.h"

#include <atomic>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Both ops on gpu:0 take 100 + 100, on gpu:1 50 + 160 [us]. The second wins if 50 f(a) > 60 f(b),
// at the least with f(a) = 1 + epsilon, f(b) = 1 - epsilon, epsilon = 10 / 110.
struct TwoWays {
  std::shared_ptr<const Problem> problem;
  Candidate first{.label = "first", .placement = {{0, 0}}};
  Candidate second{.label = "second", .placement = {{1, 1}}};

  TwoWays() {
    ProblemBuilder builder = Gpus(2);
    builder.Op("a", {100'000, 50'000});
    builder.Op("b", {100'000, 160'000}, {0});
    problem = builder.Build();
  }
  Adversary Find(const AdversaryOptions& options, std::uint64_t seed = 0, int jobs = 1) const {
    return FindAdversary(problem, {}, first, second, options, seed, jobs, [] {});
  }
};

TEST_CASE("the smallest change that makes the second placement win, against a hand calculation") {
  const TwoWays ways;
  const double least = 10.0 / 110;
  const Adversary found = ways.Find({.range = 0.2, .steps = 300, .chains = 2});
  REQUIRE(found.epsilon);
  CHECK(*found.epsilon >= least - 1e-5);  // costs are rounded to 1 / 50,000
  CHECK(*found.epsilon < least + 0.003);
  CHECK(found.perturbation->op[0] == doctest::Approx(1 + *found.epsilon));
  CHECK(found.perturbation->op[1] == doctest::Approx(1 - *found.epsilon));
  const auto changed = MakeSimulator(Perturb(ways.problem, *found.perturbation), {});
  CHECK(changed->Evaluate(ways.second.placement).step_time <
        changed->Evaluate(ways.first.placement).step_time);
  CHECK(found.evaluations >= 600);

  const Adversary none = ways.Find({.range = 0.09, .steps = 100, .chains = 2});
  CHECK_FALSE(none.epsilon);
  CHECK(none.evaluations >= 200);
  CHECK(none.evaluations <= 202);  // a move may simulate twice
}

TEST_CASE("the same seed finds the same, whatever the number of jobs") {
  const TwoWays ways;
  const AdversaryOptions options{.range = 0.2, .steps = 60, .chains = 3};
  const Adversary one = ways.Find(options, 5, 1), three = ways.Find(options, 5, 3);
  CHECK(one.epsilon == three.epsilon);
  REQUIRE(one.perturbation);
  CHECK(one.perturbation->op == three.perturbation->op);
  CHECK(one.evaluations == three.evaluations);
}

TEST_CASE("a slower link alone can be enough") {
  ProblemBuilder builder = Gpus(2);
  builder.Op("a", {100'000}, {}, 100'000);
  builder.Op("b", {300'000, 100'000}, {0});
  // On two GPUs 100 + 100 + 100, on one 100 + 300 [us].
  const Adversary found = FindAdversary(builder.Build(),
                                        {},
                                        {.label = "both", .placement = {{0, 1}}},
                                        {.label = "one", .placement = {{0, 0}}},
                                        {.range = 0.9, .steps = 200, .chains = 2},
                                        1,
                                        1,
                                        [] {});
  REQUIRE(found.epsilon);
  // The link has the factor l, b has f on both GPUs:
  // 100 l + 100 f > 300 f at the least with l = 1 + e, f = 1 - e, so e = 1/3.
  CHECK(*found.epsilon > 1.0 / 3 - 1e-4);
  CHECK(*found.epsilon < 1.0 / 3 + 0.01);
}

TEST_CASE("giving up") {
  const TwoWays ways;
  std::atomic<int> calls = 0;
  CHECK_THROWS_AS(FindAdversary(ways.problem,
                                {},
                                ways.first,
                                ways.second,
                                {.range = 0.01, .steps = 100, .chains = 1},
                                0,
                                1,
                                [&] {
                                  if (++calls == 10) throw RunError("enough");
                                }),
                  RunError);
  CHECK(calls == 10);
}

}  // namespace
