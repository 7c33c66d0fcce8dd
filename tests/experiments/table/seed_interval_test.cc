#include <cmath>

#include <doctest/doctest.h>

#include "experiments/table/row_values.h"
#include "framework/base/random.h"

using namespace emplace;

namespace {

// Of n draws none is above the median in a share of 2^-n, none below it in as many.
TEST_CASE("how often the range of n seeds contains the median") {
  CHECK(RangeLevel(2) == 0.5);
  CHECK(RangeLevel(3) == 0.75);
  CHECK(RangeLevel(4) == 0.875);
  CHECK(RangeLevel(5) == 0.9375);
  CHECK(RangeLevel(6) == 0.96875);
  Rng rng(36);
  constexpr int kTrials = 20000;
  for (const int n : {2, 3, 4, 5}) {
    int contains = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      int above = 0;  // of numbers from 0 to 999, whose median is between 499 and 500
      for (int i = 0; i < n; ++i) above += UniformInt(rng, 1000) >= 500;
      contains += above > 0 && above < n;
    }
    // Five standard deviations of a share of 20,000 trials, 0.5 / sqrt(20,000), are 0.018.
    CHECK(std::abs(static_cast<double>(contains) / kTrials - RangeLevel(n)) < 0.018);
  }
}

TEST_CASE("counts of seeds") {
  SeedCounts seeds;
  seeds.Include({});
  CHECK(seeds.most == 0);
  seeds.Include({3, 3});
  CHECK(ToString(seeds) == "3 seeds");
  seeds.Include({});  // an agent without chance
  CHECK(seeds.least == 3);
  seeds.Include({2, 5});
  CHECK(ToString(seeds) == "2 to 5 seeds");
  CHECK(ToString({1, 1}) == "1 seed");
}

}  // namespace
