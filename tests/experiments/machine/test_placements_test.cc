#include "experiments/machine/test_placements.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "profilers/measure/draw_placements.h"
#include "simulator/simulator.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

bool Has(const std::vector<Placement>& list, const Placement& placement) {
  return std::find(list.begin(), list.end(), placement) != list.end();
}

TEST_CASE("test placements differ, fit, and are none of the calibration's") {
  Rng rng(5);
  for (int round = 0; round < 5 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem = RandomProblem(rng, {.num_ops = 20, .num_devices = 3});
    TestPlacementOptions options{.count = 25, .search_seconds = 0.02};
    for (const LabelledPlacement& drawn : DrawPlacements(*problem, 12, 1)) {
      options.known.push_back(drawn.placement);
    }
    const std::vector<Candidate> candidates = TestPlacements(problem, options);
    const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
    CHECK(candidates.size() <= 25);
    std::vector<Placement> seen;
    for (const Candidate& candidate : candidates) {
      CAPTURE(candidate.label);
      CHECK(!Has(options.known, candidate.placement));
      CHECK(!Has(seen, candidate.placement));
      CHECK(simulator->Evaluate(candidate.placement).feasible);
      seen.push_back(candidate.placement);
    }
  }
}

TEST_CASE("searches and constructions come first, drawn ones fill up to the count") {
  ProblemBuilder b = Gpus(2, 10);
  std::vector<int> previous;
  for (int i = 0; i < 30; ++i) {
    const int op = b.Op("op" + std::to_string(i), {100 + i}, previous, 20);
    if (i % 3 == 0) previous = {op};
  }
  const auto problem = b.Build();
  const TestPlacementOptions options{.count = 20, .search_seconds = 0.05};
  const std::vector<Candidate> candidates = TestPlacements(problem, options);
  REQUIRE(candidates.size() == 20);
  CHECK(candidates[0].label == "simulated_annealing");
  CHECK(std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
    return candidate.label == "heft";
  }));
  CHECK(candidates.back().label.find(' ') != std::string::npos);  // "random 3"
  CHECK(TestPlacements(problem, {.count = 3, .search_seconds = 0.05}).size() == 3);

  // Many placements of this graph keep both devices busy: half of the candidates do.
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  const auto is_busy = [&](const Candidate& candidate) {
    const Outcome outcome = simulator->Evaluate(candidate.placement);
    return outcome.devices[0].busy > kBusyStepShare * outcome.step_time &&
           outcome.devices[1].busy > kBusyStepShare * outcome.step_time;
  };
  CHECK(std::ranges::count_if(candidates, is_busy) >= 10);
  for (const Candidate& candidate : candidates) {
    if (candidate.label.starts_with("busy ")) CHECK(is_busy(candidate));
  }

  TestPlacementOptions stopped = options;
  stopped.stop = [] { return true; };
  for (const Candidate& candidate : TestPlacements(problem, stopped)) {
    CHECK(candidate.label.find(' ') != std::string::npos);  // no search was begun
  }
}

}  // namespace
