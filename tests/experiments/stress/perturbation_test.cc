#include "experiments/stress/perturbation.h"

#include <cmath>

#include <doctest/doctest.h>

#include "simulator/simulator.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// a (10) on gpu:0 sends 1000 B to b (20) on gpu:1: 10 + 1 + 1000 + 20.
std::shared_ptr<const Problem> Pair() {
  ProblemBuilder builder = Gpus(2);
  builder.Op("a", {10}, {}, 1000);
  builder.Op("b", {kMaxNanos, 20}, {0});
  return builder.Build();
}

Nanos StepTime(const std::shared_ptr<const Problem>& problem) {
  return MakeSimulator(problem, {})->Evaluate(Placement{{0, 1}}).step_time;
}

TEST_CASE("factors on ops and links") {
  const auto problem = Pair();
  REQUIRE(StepTime(problem) == 1031);
  Perturbation factors = NoPerturbation(*problem);
  CHECK(StepTime(Perturb(problem, factors)) == 1031);
  factors.op[0] = 1.25;  // 12.5, rounded up
  auto changed = Perturb(problem, factors);
  CHECK(StepTime(changed) == 1034);
  CHECK(changed->costs().at(0, 1) == 13);
  CHECK_FALSE(changed->costs().allowed(1, 0));
  factors.op[1] = 0.5;
  for (double& factor : factors.channel) factor = 2;  // 2 + 2000
  changed = Perturb(problem, factors);
  CHECK(StepTime(changed) == 13 + 2002 + 10);
  CHECK(changed->cluster().channel(0).bandwidth.bytes == 500'000'000);
  CHECK(&changed->graph() == &problem->graph());
  CHECK(StepTime(problem) == 1031);
}

TEST_CASE("a link that keeps its speed keeps its fraction; the slowest makes a byte per second") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  builder.Route(0, 1, {builder.Channel("slow", 3, {2, 3})});
  builder.Route(1, 0, {builder.Channel("slower", 3, {2, 3})});
  builder.Op("a", {10});
  const auto problem = builder.Build();
  const auto changed = Perturb(problem, {{1}, {1, 4}});
  CHECK(changed->cluster().channel(0).bandwidth == Bandwidth{2, 3});
  CHECK(changed->cluster().channel(1).bandwidth == Bandwidth{1, 1});
  CHECK(changed->cluster().channel(1).latency == 12);
}

TEST_CASE("log-normal noise: median 1, the spread asked for, the same from the same generator") {
  ProblemBuilder builder = Gpus(3);
  for (int v = 0; v < 4000; ++v) builder.Op("op" + std::to_string(v), {10});
  const auto problem = builder.Build();
  Rng rng(1), again(1);
  const Perturbation factors = DrawPerturbation(*problem, 0.1, rng);
  REQUIRE(factors.op.size() == 4000);
  REQUIRE(factors.channel.size() == 6);
  double sum = 0, squares = 0;
  for (const double factor : factors.op) {
    sum += std::log(factor);
    squares += std::log(factor) * std::log(factor);
  }
  // Five standard errors: 0.1 / sqrt(4000), and 0.1 / sqrt(2 * 4000).
  CHECK(std::abs(sum / 4000) < 0.008);
  CHECK(std::abs(std::sqrt(squares / 4000) - 0.1) < 0.0056);
  CHECK(DrawPerturbation(*problem, 0.1, again).op == factors.op);
  CHECK(DrawPerturbation(*problem, 0.1, again).op != factors.op);
  CHECK(DrawPerturbation(*problem, 0, rng).op == NoPerturbation(*problem).op);
}

}  // namespace
