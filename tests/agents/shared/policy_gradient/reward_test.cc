#include "agents/shared/policy_gradient/reward.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Two devices; "b" may not run on the second. Tensors of 30 B and 70 B.
std::shared_ptr<const Problem> RewardProblem() {
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {1'000'000, 3'000'000}, {}, 30);
  builder.Op("b", {2'000'000, kMaxNanos}, {a}, 70);
  return builder.Build();
}

emplace::Score Feasible(Nanos step_time) {
  return {.step_time = step_time};
}

emplace::Score Infeasible(std::int64_t missing) {
  return {.deficit = missing, .step_time = 1};
}

double Cost(const RewardConfig& config, const emplace::Score& score) {
  return Reward(config, *RewardProblem(), "reward").Cost(score);
}

TEST_CASE("a placement that fits costs its transformed step time in seconds") {
  const emplace::Score score = Feasible(40'000'000);  // 0.04 s
  CHECK(Cost({.transform = "sqrt"}, score) == doctest::Approx(0.2));
  CHECK(Cost({.transform = "log"}, score) == doctest::Approx(std::log(0.04)));
  CHECK(Cost({.transform = "identity"}, score) == doctest::Approx(0.04));
}

TEST_CASE("a step of no time has a finite logarithm, that of one nanosecond") {
  CHECK(Cost({.transform = "log"}, Feasible(0)) == doctest::Approx(std::log(1e-9)));
}

TEST_CASE("the failing signal is twice the work on the slowest devices, or what is set") {
  // a: 3 ms on gpu:1; b: 2 ms on gpu:0, its only device; 2 * (3 + 2) = 10 ms
  CHECK(Cost({.transform = "identity"}, Infeasible(5)) == doctest::Approx(0.01));
  CHECK(Reward({.transform = "sqrt"}, *RewardProblem(), "reward").failing_cost() ==
        doctest::Approx(0.1));
  const RewardConfig set{.transform = "identity", .failing_signal = 7};
  CHECK(Cost(set, Infeasible(5)) == 7);
  CHECK(Cost(set, Feasible(1'000'000'000)) == doctest::Approx(1));
}

TEST_CASE("missing bytes make it cost more, relative to all bytes") {
  RewardConfig config{.transform = "identity", .failing_signal = 7, .deficit_weight = 2};
  // 25 of 100 B are missing: 7 * (1 + 2 * 0.25) = 10.5
  CHECK(Cost(config, Infeasible(25)) == doctest::Approx(10.5));
  config.transform = "sqrt";
  CHECK(Cost(config, Infeasible(25)) == doctest::Approx(std::sqrt(10.5)));
  config.deficit_weight = 0;
  CHECK(Cost(config, Infeasible(25)) == Cost(config, Infeasible(50)));
}

}  // namespace
