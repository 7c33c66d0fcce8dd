#include "profilers/statistics/prediction_interval.h"

#include <cmath>
#include <numeric>
#include <utility>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/results/results_reader.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;
using emplace::testing::SourceDir;

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

TEST_CASE("log ratios are above 0 where more was measured than simulated") {
  CHECK(LogRatio(100, 110) == doctest::Approx(std::log(1.1)));
  CHECK(LogRatio(110, 100) == doctest::Approx(-std::log(1.1)));
  CHECK(LogRatio(7, 7) == 0);
}

TEST_CASE("intervals around simulated times, by hand") {
  // Log ratios 1 ... 9. Each one's distance from the median of the other eight: of 1 from 5.5, of 2
  // from 5.5, ...: 4.5, 3.5, 2.5, 1.5; of 5 from (4 + 6) / 2: 0; then 1.5 ... 4.5. Rank 9: 4.5.
  const PredictionInterval interval = CalibrateInterval(OneTo(9));
  CHECK(interval.level == 0.9);
  CHECK(interval.held_out == 9);
  CHECK(interval.is_bounded());
  CHECK(interval.low == doctest::Approx(std::exp(0.5)));
  CHECK(interval.high == doctest::Approx(std::exp(9.5)));
  CHECK(interval.Around(100).low == doctest::Approx(100 * std::exp(0.5)));
  CHECK(interval.Around(100).high == doctest::Approx(100 * std::exp(9.5)));
  CHECK(std::isnan(interval.held_out_coverage));  // the eight others are too few

  // 1 ... 10: distances of 1 from the median 6 of 2 ... 10, of 2 from 6: 5, 4, 3, 2, 1 and again.
  // Rank 11 * 0.9 = 9.9: between 5 and 5. Around 5.5. Without 1: 2 ... 10 with rank 9 of 4.5 around
  // 6, which covers 1.5 ... 10.5, not 1; nor 10. Without another: 1 ... 10 is within.
  const PredictionInterval ten = CalibrateInterval(OneTo(10));
  CHECK(ten.low == doctest::Approx(std::exp(0.5)));
  CHECK(ten.high == doctest::Approx(std::exp(10.5)));
  CHECK(ten.held_out_coverage == doctest::Approx(0.8));
}

TEST_CASE("a simulation that is off by one factor everywhere is sure of it") {
  std::vector<double> plain, biased;
  Rng rng(6);
  for (int i = 0; i < 30; ++i) {
    plain.push_back(0.02 * (Uniform01(rng) - 0.5));
    biased.push_back(plain.back() + std::log(1.5));
  }
  const PredictionInterval a = CalibrateInterval(plain), b = CalibrateInterval(biased);
  CHECK(b.low == doctest::Approx(1.5 * a.low));
  CHECK(b.high == doctest::Approx(1.5 * a.high));
  CHECK(b.held_out_coverage == a.held_out_coverage);
  const PredictionInterval exact = CalibrateInterval(std::vector<double>(9, std::log(1.5)));
  CHECK(exact.low == doctest::Approx(1.5));
  CHECK(exact.high == doctest::Approx(1.5));
}

TEST_CASE("too few held-out placements: no bounds") {
  for (const int n : {0, 1, 2, 8}) {
    CAPTURE(n);
    const PredictionInterval interval = CalibrateInterval(std::vector<double>(n, 0.01));
    CHECK(!interval.is_bounded());
    CHECK(interval.held_out == n);
    CHECK(interval.Around(5).low == 0);
    CHECK(std::isinf(interval.Around(5).high));
    CHECK(std::isnan(interval.held_out_coverage));
  }
  CHECK(CalibrateInterval(std::vector<double>(9, 0.01)).is_bounded());
  CHECK(CalibrateInterval(std::vector<double>(10, 0.01)).held_out_coverage == 1);
}

TEST_CASE("the difference that is resolved: what both are off by does not count, by hand") {
  // Log ratios 0.01 i, i = 1 .. 9: of 36 pairs 8 are 0.01 apart, 7 are 0.02 apart ... and 1 is 0.08
  // apart. Rank 37 * 0.9 = 33.3: the 33rd is 0.06, the 34th 0.07.
  std::vector<double> log_ratios;
  for (int i = 1; i <= 9; ++i) log_ratios.push_back(0.01 * i);
  CHECK(ResolvedDifference(log_ratios) == doctest::Approx(std::expm1(0.063)));
  for (double& log_ratio : log_ratios) log_ratio += 5;  // all off by a factor of 148
  CHECK(ResolvedDifference(log_ratios) == doctest::Approx(std::expm1(0.063)));
  // Five placements have 10 pairs, four have 6: fewer than 9 have no quantile of 90 %.
  log_ratios.resize(5);
  CHECK(std::isfinite(ResolvedDifference(log_ratios)));
  log_ratios.resize(4);
  CHECK(std::isinf(ResolvedDifference(log_ratios)));
  CHECK(std::isinf(ResolvedDifference({})));
}

TEST_CASE("coverage and the order of placements whose intervals are apart, by hand") {
  const PredictionInterval interval{.level = 0.9, .held_out = 9, .low = 1 / 1.1, .high = 1.1};
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
  CHECK(f.distinct_pairs == 4);  // ac, ad in order; bd, cd not; ab and bc overlap
  CHECK(f.distinct_accuracy == doctest::Approx(0.5));

  const IntervalFidelity one = CheckIntervals(std::span(points).subspan(1, 1), interval);
  CHECK(one.coverage == 0);
  CHECK(std::isnan(one.repeat_coverage));
  CHECK(std::isnan(one.distinct_accuracy));
}

TEST_CASE("placements measured as equal are not in order; ends that touch overlap") {
  const PredictionInterval interval{.level = 0.9, .held_out = 9, .low = 0.5, .high = 2};
  const IntervalFidelity f = CheckIntervals(
      std::vector<FidelityPoint>{{"a", 1, 7, {}}, {"b", 4, 7, {}}, {"c", 16.5, 7, {}}}, interval);
  CHECK(f.distinct_pairs == 2);  // not a and b: 1 * 2 and 4 / 2
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

// Step times of the placements of a committed validation on two cores; none of these placements
// had calibrated the costs that they were simulated with.
std::vector<FidelityPoint> ValidatedPlacements(const ResultsReader& reader,
                                               const std::string& graph) {
  const std::string group = "/validation/" + graph;
  std::vector<FidelityPoint> points;
  for (const std::string& label : reader.Strings(group + "/labels")) points.push_back({label});
  for (const TableColumn& column : reader.Table(group + "/steps")) {
    for (size_t i = 0; i < points.size(); ++i) {
      if (column.name == "simulated_ns") {
        points[i].simulated = static_cast<double>(std::get<0>(column.values)[i]);
      } else if (column.name == "measured_ns") {
        points[i].measured = std::get<1>(column.values)[i];
      }
    }
  }
  return points;
}

TEST_CASE("90 % intervals cover 85 to 95 % of measured step times of real training graphs") {
  const ResultsReader reader(SourceDir() / "scripts/emplace/examples/validation.h5");
  const std::vector<std::string> graphs = reader.Children("/validation");
  CHECK(graphs.size() == 5);
  constexpr int kSplits = 200, kHeldOut = 17;
  Rng rng(1);
  for (const std::string& graph : graphs) {
    CAPTURE(graph);
    std::vector<FidelityPoint> points = ValidatedPlacements(reader, graph);
    REQUIRE(points.size() == 30);
    double coverage = 0, in_order = 0, distinct = 0;
    for (int split = 0; split < kSplits; ++split) {
      for (size_t i = points.size(); i > 1; --i) {
        std::swap(points[i - 1], points[UniformInt(rng, static_cast<int>(i))]);
      }
      std::vector<double> log_ratios;
      for (int i = 0; i < kHeldOut; ++i) {
        log_ratios.push_back(LogRatio(points[i].simulated, points[i].measured));
      }
      const IntervalFidelity f =
          CheckIntervals(std::span(points).subspan(kHeldOut), CalibrateInterval(log_ratios));
      coverage += f.coverage / kSplits;
      distinct += static_cast<double>(f.distinct_pairs);
      if (f.distinct_pairs > 0) {
        in_order += f.distinct_accuracy * static_cast<double>(f.distinct_pairs);
      }
    }
    CHECK(coverage >= 0.85);
    CHECK(coverage <= 0.95);
    CHECK(distinct > 10 * kSplits);  // of 78 pairs each
    CHECK(in_order / distinct > 0.99);
  }
}

TEST_CASE("what is no time, log ratio or level is refused") {
  CHECK(MessageOf<InputError>([] { LogRatio(0, 5); }) ==
        "held-out step: simulated 0 ns, measured 5 ns; expected finite times above 0");
  CHECK(MessageOf<InputError>([] { LogRatio(5, HUGE_VAL); }) ==
        "held-out step: simulated 5 ns, measured inf ns; expected finite times above 0");
  CHECK(MessageOf<InputError>([] {
          CalibrateInterval(std::vector<double>{0.1, -HUGE_VAL});
        }) == "interval: log ratio -inf, expected a finite number");
  CHECK(MessageOf<InputError>([] { CalibrateInterval({}, 1); }) ==
        "interval: level 1, expected a share above 0 and below 1");
}

}  // namespace
