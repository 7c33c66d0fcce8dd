#include "framework/base/quantile.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST_CASE("quantiles by hand") {
  // Places 0 1 2 3 of 1 2 4 8: a third is place 1, 0.4 is place 1.2 = 2 + 0.2 * 2.
  CHECK(Quantile({8, 1, 4, 2}, 0) == 1);
  CHECK(Quantile({8, 1, 4, 2}, 1) == 8);
  CHECK(Quantile({8, 1, 4, 2}, 0.4) == doctest::Approx(2.4));
  CHECK(QuantileOfSorted(std::vector<double>{1, 2, 4, 8}, 0.4) == Quantile({8, 1, 4, 2}, 0.4));
  CHECK(Quantile({7}, 0.3) == 7);
}

TEST_CASE("medians of odd and even samples") {
  CHECK(Median({3, 1, 2}) == 2);
  CHECK(Median({4, 1, 2, 3}) == 2.5);
  CHECK(Median({0.1, 0.1}) == 0.1);
}

TEST_CASE("infinite values are values, NaN is none") {
  CHECK(Median({1, kInfinite, kInfinite}) == kInfinite);
  CHECK(Median({1, 2, kInfinite}) == 2);
  CHECK(Median({1, kInfinite}) == kInfinite);
  CHECK(Quantile({1, 2, kInfinite}, 1) == kInfinite);
  CHECK(Median({-kInfinite, -kInfinite}) == -kInfinite);
  CHECK(std::isnan(Median({1, std::nan(""), 2})));
}

}  // namespace
