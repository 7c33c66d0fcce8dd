#include "profilers/statistics/paired_ratio.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("ten rounds: the second and the ninth of the ratios, by hand") {
  const std::vector<double> a(10, 100);
  const std::vector<double> b = {103, 109, 101, 104, 102, 110, 105, 108, 106, 107};
  const PairedRatio ratio = ComparePaired(a, b);
  // P(Binomial(10, 1/2) <= 1) = 11 / 1024 = 1.1 % on each side; <= 2 were 5.5 %.
  CHECK(ratio.median == doctest::Approx(1.055));
  CHECK(ratio.low == doctest::Approx(1.02));
  CHECK(ratio.high == doctest::Approx(1.09));
  CHECK(ratio.rounds == 10);
  CHECK(ratio.differs());
  const PairedRatio back = ComparePaired(b, a);
  CHECK(back.high == doctest::Approx(1 / 1.02));
  CHECK(back.differs());
}

TEST_CASE("a machine that gets slower hides no difference between steps of the same round") {
  std::vector<double> a, b;
  for (int round = 0; round < 8; ++round) {
    a.push_back(500 + 50 * round);  // 500 .. 850
    b.push_back(1.04 * a.back());   // 520 .. 884: either interval holds the other's median
  }
  CHECK(ComparePaired(a, b).low == doctest::Approx(1.04));
  CHECK(ComparePaired(a, b).differs());
  b[0] = 0.9 * a[0];  // one of eight: the interval is from the first to the eighth
  CHECK(ComparePaired(a, b).low == doctest::Approx(0.9));
  CHECK(!ComparePaired(a, b).differs());
}

TEST_CASE("five rounds tell nothing apart; rounds go in pairs") {
  const std::vector<double> five(5, 100), slower(5, 200);
  const PairedRatio ratio = ComparePaired(five, slower);
  CHECK(ratio.median == 2);
  CHECK(!ratio.is_bounded());
  CHECK(!ratio.differs());
  CHECK(ComparePaired(std::vector<double>(6, 100), std::vector<double>(6, 200)).differs());
  CHECK(MessageOf<InputError>([&] { ComparePaired(five, std::vector<double>(6, 1)); }) ==
        "paired steps: 5 and 6 rounds, expected equal numbers of at least 1");
}

TEST_CASE("pairs of placements: which differ, and how many of these were simulated in order") {
  const auto repeats = [](double time) { return std::vector<double>(6, time); };
  std::vector<FidelityPoint> points = {{"a", 120, 110, repeats(110)},
                                       {"b", 100, 100, repeats(100)},
                                       {"c", 110, 130, repeats(130)},
                                       {"d", 150, 100, {99, 101, 99, 101, 100, 100}}};
  const PairedFidelity pairs = ComparePairs(points);
  CHECK(pairs.fastest == 1);
  CHECK(pairs.to_fastest[0].median == doctest::Approx(1.1));
  CHECK(pairs.to_fastest[1].median == 1);
  CHECK(!pairs.to_fastest[1].differs());
  CHECK(!pairs.to_fastest[3].differs());  // 0.99 .. 1.01
  CHECK(pairs.pairs == 6);
  // ab, ac, ad, bc, cd differ; simulated in order: ab, bc. ac, ad and cd are not.
  CHECK(pairs.differing == 5);
  CHECK(pairs.in_order == doctest::Approx(0.4));
  points.resize(1);
  CHECK(ComparePairs(points).pairs == 0);
  CHECK(std::isnan(ComparePairs(points).in_order));
}

}  // namespace
