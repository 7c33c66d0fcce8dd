#include "framework/bounds/lower_bound.h"

#include <vector>

#include "framework/bounds/bounds.h"
#include "tests/framework/bounds/optimum.h"
#include "tests/simulator/simulate.h"
#include "tests/support/sanitizers.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("the best bound is named by its method") {
  ProblemBuilder chain = Gpus(2);
  chain.Op("a", {10});
  chain.Op("b", {10}, {0});
  const LowerBound path = ProveBound(*chain.Build());
  CHECK(path.value == 20);
  CHECK(path.method == "critical_path");

  ProblemBuilder wide = Gpus(2);
  for (const char* name : {"a", "b", "c", "d"}) wide.Op(name, {10});
  const LowerBound work = ProveBound(*wide.Build());
  CHECK(work.value == 20);
  CHECK(work.method == "work");

  // Work of a, then of both, then of b: 10 + 20 + 10; without the windows 60 / 2.
  ProblemBuilder waist = Gpus(2, 0);
  const int a = waist.Op("a", {10});
  std::vector<int> middle;
  for (const char* name : {"w", "x", "y", "z"}) middle.push_back(waist.Op(name, {10}, {a}));
  waist.Op("b", {10}, middle);
  const LowerBound windows = ProveBound(*waist.Build());
  CHECK(windows.value == 40);
  CHECK(windows.method == "windows");
}

TEST_CASE("forks that do not pay for their transfers run one after another") {
  ProblemBuilder b = Gpus(2);
  int before = b.Op("op", {100}, {}, 1000);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "fork" + std::to_string(i);
    const int x = b.Op(name + "x", {100}, {before}, 1000);
    const int y = b.Op(name + "y", {100}, {before}, 1000);
    before = b.Op(name, {100}, {x, y}, 1000);
  }
  const auto problem = b.Build();
  std::vector<LowerBound> told;
  ProofOptions options;
  options.improved = [&](const LowerBound& bound) { told.push_back(bound); };
  const LowerBound bound = ProveBound(*problem, options);
  // One device does all in 16 * 100, which is optimal. Paths take 11 * 100.
  CHECK(bound.method == "segments");
  CHECK(bound.value <= 1600);
  CHECK(bound.value >= 1590);
  REQUIRE(told.size() > 1);
  CHECK(told.back().value == bound.value);
  for (size_t i = 1; i < told.size(); ++i) CHECK(told[i].value > told[i - 1].value);
  // With time and the optimum known the last percent is proved.
  CHECK(ProveBound(*problem, {.seconds = 5, .known = 1600}).value <= 1600);
}

TEST_CASE("a proof goes on from an earlier one") {
  ProblemBuilder b = Gpus(2);
  for (const char* name : {"a", "b", "c", "d", "e"}) b.Op(name, {10});
  // Two devices need 25 for 50 ns of work; no split of five whole ops takes less than 30.
  for (const Objective objective : {Objective::kStepTime, Objective::kPeriod}) {
    const auto problem = WithObjective(*b.Build(), objective);
    std::vector<Nanos> told;
    const auto prove = [&](Nanos proved) {
      told.clear();
      ProofOptions options{.known = 40, .proved = {proved, "earlier"}};
      options.improved = [&](const LowerBound& bound) { told.push_back(bound.value); };
      return ProveBound(*problem, options);
    };
    CHECK(prove(10).value == 25);
    CHECK(prove(10).method == "work");
    CHECK(told == std::vector<Nanos>{25});
    CHECK(prove(28).value == 28);
    CHECK(prove(28).method == "earlier");
    CHECK(told.empty());
  }
}

TEST_CASE("a bound holds in every order: what an order by id loses remains as a gap") {
  ProblemBuilder b = Gpus(2);
  const int a = b.Op("a", {10, kMaxNanos});
  b.Op("side", {100, kMaxNanos}, {a});
  const int c = b.Op("c", {10, kMaxNanos}, {a});
  b.Op("d", {kMaxNanos, 100}, {c});
  const auto problem = b.Build();
  // By id `side` runs before c, in Q, too, where both are ready at 10: a, side, c, 1, d.
  CHECK(Optimum(problem).any == 10 + 100 + 10 + 1 + 100);
  // c first: a, c, 1, d.
  const SimulatorOptions c_first{.semantics = Semantics::kStream, .issue_order = {0, 2, 1, 3}};
  CHECK(MakeSimulator(problem, c_first)->Evaluate(Placement{{0, 0, 0, 1}}).step_time == 121);
  CHECK(ProveBound(*problem, {.seconds = 1, .known = 221}).value == 121);
}

TEST_CASE("an interrupt ends a proof") {
  ProblemBuilder b = Gpus(2);
  b.Op("a", {10});
  b.Op("b", {10}, {0});
  const auto problem = b.Build();
  ProofOptions options;
  options.interrupt = Interrupt([] { return true; });
  CHECK_THROWS_AS(ProveBound(*problem, options), Interrupted);
}

TEST_CASE("never above the optimum: random problems") {
  Rng rng(61);
  for (int round = 0; round < 700 * EMPLACE_TEST_SCALE / kSanitizerDivisor; ++round) {
    RandomProblemOptions random;
    random.num_ops = 3 + UniformInt(rng, 4);
    random.num_devices = 2 + UniformInt(rng, 2);
    random.forbidden = UniformInt(rng, 2) == 0;
    random.ties = UniformInt(rng, 2) == 0;
    random.longest = 1000;
    const auto problem = RandomProblem(rng, random);
    const Optimum optimum(problem);
    const LowerBound bound = ProveBound(*problem);
    REQUIRE(bound.value <= optimum.any);
    REQUIRE(ProveBound(*problem, {.seconds = 1e-4, .known = optimum.fitting}).value <=
            optimum.fitting);
    REQUIRE(bound.value >= ComputeBounds(*problem).best());
  }
}

TEST_CASE("never above the optimum, and mostly near it: grouped forks on equal devices") {
  Rng rng(62);
  double gaps = 0, plain_gaps = 0;
  const int rounds = 700 * EMPLACE_TEST_SCALE / kSanitizerDivisor;
  for (int round = 0; round < rounds; ++round) {
    ProblemBuilder b = Gpus(2 + UniformInt(rng, 2), UniformInt(rng, 10));
    const int count = 5 + UniformInt(rng, 6);
    for (int v = 0; v < count; ++v) {
      std::vector<int> inputs;
      for (int i = 0; v > 0 && i < 1 + UniformInt(rng, 2); ++i) {
        inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 3)));
      }
      b.Op("op" + std::to_string(v), {UniformInt(rng, 100)}, inputs, UniformInt(rng, 150));
    }
    std::vector<int> labels;
    for (int v = 0; v < count; ++v) labels.push_back(UniformInt(rng, 7));
    const auto problem = b.Build(Grouping(labels));
    const Nanos optimum = Optimum(problem).any;
    const LowerBound bound = ProveBound(*problem);
    REQUIRE(bound.value <= optimum);
    gaps += 1 - static_cast<double>(bound.value) / static_cast<double>(optimum);
    plain_gaps +=
        1 - static_cast<double>(ComputeBounds(*problem).best()) / static_cast<double>(optimum);
  }
  CHECK(gaps < 0.75 * plain_gaps);
}

}  // namespace
