#include "profilers/statistics/prediction_interval.h"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;

std::vector<double> OneTo(int n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST_CASE("the score of rank (n + 1) level, by hand") {
  CHECK(ConformalQuantile(OneTo(9), 0.9) == 9);    // rank 10 * 0.9
  CHECK(ConformalQuantile(OneTo(19), 0.9) == 18);  // rank 20 * 0.9
  CHECK(ConformalQuantile(OneTo(17), 0.9) == doctest::Approx(16.2));
  CHECK(ConformalQuantile(std::vector<double>{5, 1, 4, 2}, 0.5) == doctest::Approx(3));  // 2.5
  CHECK(ConformalQuantile(std::vector<double>{3}, 0.5) == 3);
  CHECK(ConformalQuantile(std::vector<double>{3}, 0.25) == doctest::Approx(1.5));
  // Fewer than 0.9 / (1 - 0.9) = 9.
  CHECK(std::isinf(ConformalQuantile(OneTo(8), 0.9)));
  CHECK(std::isinf(ConformalQuantile({}, 0.5)));
}

TEST_CASE("scores are distances in log time") {
  CHECK(IntervalScore(100, 110) == doctest::Approx(std::log(1.1)));
  CHECK(IntervalScore(110, 100) == doctest::Approx(std::log(1.1)));
  CHECK(IntervalScore(7, 7) == 0);
}

TEST_CASE("intervals around simulated times") {
  std::vector<double> scores;
  for (int i = 1; i <= 19; ++i) scores.push_back(std::log(1 + 0.01 * i));
  const PredictionInterval interval = CalibrateInterval(scores);
  CHECK(interval.level == 0.9);
  CHECK(interval.held_out == 19);
  CHECK(interval.is_bounded());
  CHECK(interval.factor == doctest::Approx(1.18));
  CHECK(interval.Around(118).low == doctest::Approx(100));
  CHECK(interval.Around(100).high == doctest::Approx(118));
  // Each left out once: the quantile of the 18 others has rank 17.1. That is 17.1 without the
  // 19th, 17.2 without the 18th, neither covered; 18.1 without any other, which is covered.
  CHECK(interval.held_out_coverage == doctest::Approx(17.0 / 19));
}

TEST_CASE("too few held-out placements: no bounds") {
  for (const int n : {0, 1, 8}) {
    CAPTURE(n);
    const PredictionInterval interval = CalibrateInterval(std::vector<double>(n, 0.01));
    CHECK(!interval.is_bounded());
    CHECK(interval.held_out == n);
    CHECK(interval.Around(5).low == 0);
    CHECK(std::isinf(interval.Around(5).high));
    CHECK(std::isnan(interval.held_out_coverage));
  }
  const PredictionInterval nine = CalibrateInterval(std::vector<double>(9, 0.01));
  CHECK(nine.is_bounded());
  CHECK(std::isnan(nine.held_out_coverage));  // the eight others are too few
  CHECK(CalibrateInterval(std::vector<double>(10, 0.01)).held_out_coverage == 1);
}

TEST_CASE("coverage, equal placements and the order of the others, by hand") {
  const PredictionInterval interval{.level = 0.9, .held_out = 9, .factor = 1.1};
  const std::vector<FidelityPoint> points{
      {"a", 100, 105, {105, 120}},       // in [90.9, 110]; one of two repeats
      {"b", 120, 140, {}},               // not in [109.1, 132]; overlaps a and c
      {"c", 140, 139, {139, 139, 139}},  // in [127.3, 154]
      {"d", 200, 130, {130}},            // not in [181.8, 220]; overlaps none, faster than b, c
  };
  const IntervalFidelity f = CheckIntervals(points, interval);
  CHECK(f.covered == 2);
  CHECK(f.coverage == doctest::Approx(0.5));
  CHECK(f.repeat_coverage == doctest::Approx((0.5 + 1 + 0) / 3));
  CHECK(f.equal_pairs == 2);     // ab, bc
  CHECK(f.distinct_pairs == 4);  // ac, ad in order; bd, cd not
  CHECK(f.distinct_accuracy == doctest::Approx(0.5));
  CHECK(f.equal_to_best == 2);  // a itself and b

  const IntervalFidelity one = CheckIntervals(std::span(points).subspan(1, 1), interval);
  CHECK(one.coverage == 0);
  CHECK(std::isnan(one.repeat_coverage));
  CHECK(std::isnan(one.distinct_accuracy));
  CHECK(one.equal_to_best == 1);
}

TEST_CASE("placements measured as equal are not in order; ends that touch overlap") {
  const PredictionInterval interval{.level = 0.9, .held_out = 9, .factor = 2};
  const IntervalFidelity f = CheckIntervals(
      std::vector<FidelityPoint>{{"a", 1, 7, {}}, {"b", 4, 7, {}}, {"c", 16.5, 7, {}}}, interval);
  CHECK(f.equal_pairs == 1);  // 1 * 2 and 4 / 2
  CHECK(f.distinct_pairs == 2);
  CHECK(f.distinct_accuracy == 0);
}

// Share of `trials` in which a new score is below the quantile of n others of its distribution.
template <class Draw>
double Coverage(int n, double level, int trials, std::uint64_t seed, const Draw& draw) {
  Rng rng(seed);
  std::vector<double> scores(n);
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    for (double& score : scores) score = draw(rng);
    covered += draw(rng) <= ConformalQuantile(scores, level);
  }
  return static_cast<double>(covered) / trials;
}

TEST_CASE("new scores are covered as promised, whatever their distribution") {
  constexpr int kTrials = 20000;
  const auto uniform = [](Rng& rng) { return Uniform01(rng); };
  const auto long_tail = [](Rng& rng) { return std::pow(1 - Uniform01(rng), -2.0); };
  const auto steps = [](Rng& rng) {
    return std::floor(4 * Uniform01(rng)) + 1e-9 * Uniform01(rng);
  };
  for (const double level : {0.5, 0.8, 0.9}) {
    const double deviations = 4 * std::sqrt(level * (1 - level) / kTrials);
    for (const int n : {9, 12, 17, 40}) {
      CAPTURE(level);
      CAPTURE(n);
      const double least = std::floor((n + 1) * level + 1e-9) / (n + 1);
      const double most = std::ceil((n + 1) * level - 1e-9) / (n + 1);
      for (const double coverage :
           {Coverage(n, level, kTrials, 3, long_tail), Coverage(n, level, kTrials, 4, steps)}) {
        CHECK(coverage >= least - deviations);
        CHECK(coverage <= most + deviations);
      }
      CHECK(std::abs(Coverage(n, level, kTrials, 5, uniform) - level) < deviations);
    }
  }
}

TEST_CASE("90 % intervals of drawn placements cover their measurements as promised") {
  // Both the held-out placements and the new ones are off by a bias and noise.
  Rng rng(11);
  int covered = 0, all = 0;
  double held_out = 0;
  constexpr int kMachines = 400, kHeldOut = 17, kNew = 10;
  for (int machine = 0; machine < kMachines; ++machine) {
    const double bias = 0.02 * (Uniform01(rng) - 0.5);
    const auto measured = [&](double simulated) {
      double noise = bias;
      for (int i = 0; i < 4; ++i) noise += 0.03 * (Uniform01(rng) - 0.5);
      return simulated * std::exp(noise);
    };
    std::vector<double> scores;
    for (int i = 0; i < kHeldOut; ++i) {
      const double simulated = 1e6 * (1 + 9 * Uniform01(rng));
      scores.push_back(IntervalScore(simulated, measured(simulated)));
    }
    const PredictionInterval interval = CalibrateInterval(scores);
    held_out += interval.held_out_coverage / kMachines;
    for (int i = 0; i < kNew; ++i) {
      const double simulated = 1e6 * (1 + 9 * Uniform01(rng));
      covered += interval.Around(simulated).Contains(measured(simulated));
      ++all;
    }
  }
  // Between ranks 16 and 17 of 18: 88.9 to 94.4 %.
  const double coverage = static_cast<double>(covered) / all;
  CHECK(coverage > 0.88);
  CHECK(coverage < 0.95);
  CHECK(std::abs(held_out - coverage) < 0.02);
}

TEST_CASE("what is no score, time or level is refused") {
  CHECK(MessageOf<InputError>([] { IntervalScore(0, 5); }) ==
        "held-out step: simulated 0 ns, measured 5 ns; expected finite times above 0");
  CHECK(MessageOf<InputError>([] { IntervalScore(5, HUGE_VAL); }) ==
        "held-out step: simulated 5 ns, measured inf ns; expected finite times above 0");
  CHECK(MessageOf<InputError>([] {
          CalibrateInterval(std::vector<double>{0.1, -0.5});
        }) == "interval: score -0.5, expected a number >= 0");
  CHECK(MessageOf<InputError>([] { CalibrateInterval({}, 1); }) ==
        "interval: level 1, expected a share above 0 and below 1");
}

}  // namespace
