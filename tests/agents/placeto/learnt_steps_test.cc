#include "agents/placeto/learnt_steps.h"

#include <cmath>

#include <doctest/doctest.h>

namespace {

using namespace emplace;

// Steps 2 and 5 of seven move their group.
std::vector<EpisodeStep> SevenSteps() {
  std::vector<EpisodeStep> steps(7);
  for (int t = 0; t < 7; ++t) {
    steps[t].state.placement.device.assign(7, 1);
    steps[t].state.current = t;
    steps[t].device = t == 2 || t == 5 ? 0 : 1;
  }
  return steps;
}

TEST_CASE("all steps count once, whatever is wanted beyond them") {
  const std::vector<EpisodeStep> steps = SevenSteps();
  CHECK(Moves(steps[2]));
  CHECK_FALSE(Moves(steps[3]));
  for (int stays : {0, 5, 100}) {
    Rng rng(1), untouched(1);
    const std::vector<LearntStep> learnt = ChooseLearntSteps(steps, stays, rng);
    REQUIRE(learnt.size() == 7);
    for (int t = 0; t < 7; ++t) {
      CHECK(learnt[t].step == t);
      CHECK(learnt[t].weight == 1);
    }
    CHECK(rng() == untouched());
  }
}

TEST_CASE("moves are always learnt from, and the others stand for all of their kind alike") {
  const std::vector<EpisodeStep> steps = SevenSteps();
  Rng rng(3);
  std::vector<double> mean(7);
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<LearntStep> learnt = ChooseLearntSteps(steps, 2, rng);
    REQUIRE(learnt.size() == 4);
    for (std::size_t i = 0; i < learnt.size(); ++i) {
      CHECK((i == 0 || learnt[i - 1].step < learnt[i].step));
      mean[learnt[i].step] += learnt[i].weight / kDraws;
    }
  }
  // 2.5 with probability 2 in 5: a standard deviation of 1.22, 0.0087 of the mean.
  for (int t = 0; t < 7; ++t) {
    CAPTURE(t);
    if (t == 2 || t == 5) {
      CHECK(mean[t] == doctest::Approx(1));
    } else {
      CHECK(std::abs(mean[t] - 1) < 0.04);
    }
  }
}

}  // namespace
