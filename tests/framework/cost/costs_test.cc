#include "framework/cost/costs.h"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("devices on which every op costs the same are labelled by the least of them") {
  ProblemBuilder b = Gpus(4);
  b.Op("a", {5, 5, 5, 5});
  b.Op("b", {1, 2, 1, 2});
  CHECK(DevicesOfEqualCosts(b.Build()->costs()) == std::vector<int>{0, 1, 0, 1});
  b.Op("c", {3, 3, 3, kMaxNanos});
  CHECK(DevicesOfEqualCosts(b.Build()->costs()) == std::vector<int>{0, 1, 0, 3});
}

}  // namespace
