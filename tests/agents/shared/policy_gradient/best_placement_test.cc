#include "agents/shared/policy_gradient/best_placement.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/support/problems.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

emplace::Score Taking(Nanos time, bool feasible = true) {
  return {.deficit = feasible ? 0 : 1, .step_time = time};
}

TEST_CASE("the best placement is the first, then whatever is better") {
  BestPlacement best;
  CHECK(best.placement() == nullptr);
  CHECK(std::isnan(best.step_time()));
  CHECK(best.Offer({{0}}, Taking(3, false)));
  CHECK(std::isnan(best.step_time()));  // does not fit
  CHECK(best.Offer({{1}}, Taking(9)));
  CHECK(best.step_time() == 9);
  CHECK_FALSE(best.Offer({{0}}, Taking(9)));  // no better
  CHECK(*best.placement() == Placement{{1}});
  BestPlacement other;
  best.Offer(other);  // was offered none
  CHECK(best.step_time() == 9);
  other.Offer({{0}}, Taking(5));
  best.Offer(other);
  CHECK(best.step_time() == 5);
  CHECK(*best.placement() == Placement{{0}});
  best.Reset();
  CHECK(best.placement() == nullptr);
  CHECK(best.Offer({{0}}, Taking(20)));
}

TEST_CASE("patience ends after so many trials in a row that were no better") {
  Patience patience(2), endless(0);
  for (bool better : {false, true, false}) patience.Count(better);
  CHECK_FALSE(patience.Exhausted());
  patience.Count(false);
  CHECK(patience.Exhausted());
  Patience restored(3);
  CopyState(patience, restored);  // 2 trials
  CHECK_FALSE(restored.Exhausted());
  restored.Count(false);
  CHECK(restored.Exhausted());
  patience.Reset();
  CHECK_FALSE(patience.Exhausted());
  for (int i = 0; i < 1000; ++i) endless.Count(false);
  CHECK_FALSE(endless.Exhausted());
}

}  // namespace
