#include "framework/bounds/spreading.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/small_periods.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("spreading counts the transfers that room asks for, by hand") {
  const auto problem = PairOfOps();
  const CompiledPeriod compiled(*problem);
  Nanos bound = 0;
  ProveSpreading(
      compiled,
      20,
      [] { return false; },
      [&](Nanos value) {
        bound = std::max(bound, value);
        return false;
      });
  // l >= (20 - T) / 10 and 2 T >= 20 + 2 * 4 l: T >= 12.86, 13 as a whole number. Apart: 14.
  CHECK(bound == 13);
}

}  // namespace
