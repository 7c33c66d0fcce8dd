#include "agents/shared/coarsening.h"

#include <algorithm>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("mean costs are over the devices that a group may have") {
  ProblemBuilder b = Gpus(3);
  b.Op("a", {1, 2, 6});
  b.Op("b", {4});
  CHECK(MeanCosts(*b.Build()) == std::vector<double>{3, 4});
}

TEST_CASE("random orders have every number once, and all of them come up") {
  Rng rng(3);
  std::set<std::vector<int>> seen;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int> order = RandomOrder(4, rng);
    seen.insert(order);
    std::ranges::sort(order);
    CHECK(order == std::vector<int>{0, 1, 2, 3});
  }
  CHECK(seen.size() == 24);  // each is missed with a probability of (23 / 24)^200 = 2e-4
}

}  // namespace
