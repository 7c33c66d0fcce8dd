#include "profilers/statistics/residuals.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;
using Points = std::vector<ResidualPoint>;

constexpr int kBytes = static_cast<int>(StepTrait::kCrossingBytes);
constexpr int kCrossings = static_cast<int>(StepTrait::kCrossings);
constexpr int kOverlap = static_cast<int>(StepTrait::kOverlap);
constexpr int kStepTime = static_cast<int>(StepTrait::kStepTime);

ResidualReport Test(const std::vector<Points>& graphs, int shuffles = 200) {
  const auto report = TestResiduals(graphs, shuffles);
  REQUIRE(report.has_value());
  return *report;
}

// Roughly normal, mean 0, variance 1/3.
double Noise(Rng& rng) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += Uniform01(rng) - 0.5;
  return sum;
}

// @param effect  of the bytes on the residual, in units of its noise
Points DrawGraph(Rng& rng, int size, double effect) {
  Points points(size);
  for (ResidualPoint& point : points) {
    const double bytes = Noise(rng);
    point.simulated = 1e6 * (2 + Noise(rng));
    point.measured = point.simulated * std::exp(0.02 * (Noise(rng) + effect * bytes));
    point.traits = {1e6 * (5 + bytes),
                    static_cast<double>(UniformInt(rng, 50)),
                    Uniform01(rng),
                    point.simulated};
  }
  return points;
}

TEST_CASE("correlations of three placements by hand") {
  // Residuals -a, 0, a.
  const Points points{{100, 100 / 1.1, {10, 1, 0.5, 100}},
                      {100, 100, {20, 3, 0.5, 100}},
                      {200, 220, {30, 2, 0.5, 200}}};
  const ResidualReport report = Test({points}, 6000);
  CHECK(report.graphs == 1);
  CHECK(report.placements == 3);
  CHECK(report.shuffles == 6000);
  CHECK(report.traits[kBytes].pearson == doctest::Approx(1));
  CHECK(report.traits[kBytes].spearman == doctest::Approx(1));
  CHECK(report.traits[kCrossings].pearson == doctest::Approx(0.5));  // (1 - 0) / 2
  // (-1, 0, 1) with (-1, -1, 2) / 3: 1 / sqrt(2/3 * 2/3 * ...) = 3 / sqrt(2 * 6).
  CHECK(report.traits[kStepTime].pearson == doctest::Approx(3 / std::sqrt(12.0)));
  CHECK(report.traits[kStepTime].spearman == doctest::Approx(3 / std::sqrt(12.0)));
  CHECK(std::isnan(report.traits[kOverlap].pearson));  // the same in all placements
  CHECK(std::isnan(report.traits[kOverlap].pearson_above));
  CHECK(std::isnan(report.traits[kOverlap].slope));
  // Of the six orders two correlate by 1 and four by 0.5: 4000 of 6000, within four deviations.
  CHECK(std::abs(report.traits[kBytes].pearson_above - 4.0 / 6) < 4 * std::sqrt(2.0 / 9 / 6000));
  CHECK(report.traits[kCrossings].pearson_above == 0);
  // Differences -9.09, 0, 20 over bytes -10, 0, 10: (90.9 + 200) / 200.
  CHECK(report.traits[kBytes].slope == doctest::Approx((1000 - 1000 / 1.1 + 200) / 200));
  for (int t = 0; t < kNumStepTraits; ++t)
    CHECK(report.traits[t].trait == StepTrait{std::uint8_t(t)});
  CHECK(ToString(StepTrait::kCrossingBytes) == "crossing bytes");
  CHECK(ToString(StepTrait::kStepTime) == "step time");
}

TEST_CASE("graphs count by their placements; what differs between them does not count") {
  Points rising, falling;
  for (int i = 0; i < 4; ++i) {
    rising.push_back({100, 100 * std::exp(0.01 * i), {double(i), 0, 0, 100}});
  }
  for (int i = 0; i < 6; ++i) {  // another scale and another bias
    falling.push_back({1e6, 2e6 * std::exp(-0.01 * i), {1e6 * (9 + i), 0, 0, 1e6}});
  }
  const ResidualReport both = Test({rising, falling});
  CHECK(both.graphs == 2);
  CHECK(both.placements == 10);
  CHECK(both.traits[kBytes].pearson == doctest::Approx((4.0 - 6) / 10));
  CHECK(both.traits[kBytes].spearman == doctest::Approx((4.0 - 6) / 10));
  // A graph in which the trait is always the same says nothing about it.
  for (ResidualPoint& point : rising) point.traits[kBytes] = 1;
  CHECK(Test({rising, falling}).traits[kBytes].pearson == doctest::Approx(-1));
}

TEST_CASE("graphs too small or without errors are left out") {
  Rng rng(1);
  const Points good = DrawGraph(rng, 10, 0), two = DrawGraph(rng, 2, 0);
  Points exact = DrawGraph(rng, 10, 0);
  for (ResidualPoint& point : exact) point.measured = point.simulated;
  const ResidualReport report = Test({two, good, exact, {}});
  CHECK(report.graphs == 1);
  CHECK(report.placements == 10);
  CHECK(report.traits[kBytes].pearson == Test({good}).traits[kBytes].pearson);
  CHECK(!TestResiduals(std::vector<Points>{two, exact}).has_value());
  CHECK(!TestResiduals({}).has_value());
}

// The textbook formula, graph by graph.
double PooledByHand(const std::vector<Points>& graphs, int trait, bool ranks) {
  double sum = 0, count = 0;
  for (const Points& points : graphs) {
    std::vector<double> x, y;
    for (const ResidualPoint& point : points) {
      x.push_back(point.traits[trait]);
      y.push_back(std::log(point.measured) - std::log(point.simulated));
    }
    if (ranks) {
      for (std::vector<double>* values : {&x, &y}) {
        const std::vector<double> old = *values;
        for (double& value : *values) {
          const double self = value;
          const auto less =
              std::count_if(old.begin(), old.end(), [&](double v) { return v < self; });
          const auto same = std::count(old.begin(), old.end(), self);
          value = static_cast<double>(less) + static_cast<double>(same + 1) / 2;
        }
      }
    }
    const auto n = static_cast<double>(points.size());
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sx += x[i], sy += y[i], sxx += x[i] * x[i], syy += y[i] * y[i], sxy += x[i] * y[i];
    }
    sum += n * (n * sxy - sx * sy) / std::sqrt((n * sxx - sx * sx) * (n * syy - sy * sy));
    count += n;
  }
  return sum / count;
}

TEST_CASE("correlations equal the textbook's, ties included") {
  Rng rng(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<Points> graphs(1 + UniformInt(rng, 4));
    for (Points& points : graphs) points = DrawGraph(rng, 5 + UniformInt(rng, 30), Noise(rng));
    const ResidualReport report = Test(graphs, 1);
    for (const int trait : {kBytes, kCrossings, kOverlap}) {
      CHECK(report.traits[trait].pearson == doctest::Approx(PooledByHand(graphs, trait, false)));
      CHECK(report.traits[trait].spearman == doctest::Approx(PooledByHand(graphs, trait, true)));
    }
  }
}

TEST_CASE("without an effect 5 of 100 experiments are above 95 of 100 shuffles") {
  Rng rng(3);
  constexpr int kExperiments = 400;
  int pearson = 0, spearman = 0, largest = 0;
  for (int experiment = 0; experiment < kExperiments; ++experiment) {
    const ResidualReport report = Test({DrawGraph(rng, 16, 0), DrawGraph(rng, 24, 0)});
    pearson += report.traits[kBytes].pearson_above > kMostAbove;
    spearman += report.traits[kCrossings].spearman_above > kMostAbove;
    largest += report.largest_above > kMostAbove;
  }
  // 20 expected, deviation 4.4.
  for (const int count : {pearson, spearman, largest}) {
    CHECK(count >= 3);
    CHECK(count <= 37);
  }
}

TEST_CASE("an effect like that of the bytes is found, and on nothing else") {
  Rng rng(4);
  constexpr int kExperiments = 100;
  int found = 0, elsewhere = 0;
  double slope = 0;
  for (int experiment = 0; experiment < kExperiments; ++experiment) {
    // An effect as large as the noise: correlation 0.7.
    const ResidualReport report = Test({DrawGraph(rng, 20, 1), DrawGraph(rng, 20, 1)});
    found += report.traits[kBytes].is_systematic() && report.is_systematic() &&
             report.largest_above > kMostAbove;
    elsewhere += report.traits[kOverlap].pearson_above > kMostAbove;
    slope += report.traits[kBytes].slope / kExperiments;
  }
  CHECK(found >= 98);
  CHECK(elsewhere <= 14);  // 5 expected, deviation 2.2
  // 2 % of 2 ms on average per 1e6 B.
  CHECK(slope == doctest::Approx(0.02 * 2e6 / 1e6).epsilon(0.15));
}

TEST_CASE("the same seed gives the same shares, another one others") {
  Rng rng(5);
  const std::vector<Points> graphs = {DrawGraph(rng, 12, 0.2)};
  const auto shares = [&](std::uint64_t seed) {
    const ResidualReport report = *TestResiduals(graphs, 500, seed);
    std::vector<double> all = {report.largest_above};
    for (const TraitCorrelation& trait : report.traits) {
      all.insert(all.end(), {trait.pearson_above, trait.spearman_above});
    }
    return all;
  };
  CHECK(shares(1) == shares(1));
  CHECK(shares(1) != shares(2));
}

TEST_CASE("times that are none are refused") {
  const Points points{{1, 1, {}}, {1, 2, {}}, {0, 1, {}}};
  CHECK(MessageOf<InputError>([&] { TestResiduals(std::vector<Points>{points}); }) ==
        "residuals: a step time is 0 ns, expected more than 0");
}

}  // namespace
