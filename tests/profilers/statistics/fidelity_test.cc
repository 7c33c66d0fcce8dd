#include "profilers/statistics/fidelity.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using emplace::testing::MessageOf;

// Kendall (1945) by the definition, over all pairs.
double TauByPairs(const std::vector<double>& a, const std::vector<double>& b) {
  double score = 0, pairs_a = 0, pairs_b = 0;
  const auto sign = [](double x) { return (x > 0) - (x < 0); };
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int sa = sign(a[i] - a[j]), sb = sign(b[i] - b[j]);
      score += sa * sb;
      pairs_a += sa != 0;
      pairs_b += sb != 0;
    }
  }
  return score / std::sqrt(pairs_a * pairs_b);
}

TEST_CASE("tau-b by hand") {
  const std::vector<double> a{1, 2, 3, 4};
  CHECK(KendallTau(a, a) == 1);
  CHECK(KendallTau(a, std::vector<double>{4, 3, 2, 1}) == -1);
  // Pairs in order 5, out of order 1: (5 - 1) / 6.
  CHECK(KendallTau(a, std::vector<double>{1, 3, 2, 4}) == doctest::Approx(4.0 / 6));
  // One tie in b: 5 concordant of 6 pairs, 5 untied in b: 5 / sqrt(6 * 5).
  CHECK(KendallTau(a, std::vector<double>{1, 2, 2, 4}) == doctest::Approx(5 / std::sqrt(30.0)));
  CHECK(std::isnan(KendallTau(a, std::vector<double>{5, 5, 5, 5})));
  CHECK(std::isnan(KendallTau(std::vector<double>{1}, std::vector<double>{1})));
  CHECK(std::isnan(KendallTau({}, {})));
}

TEST_CASE("tau-b equals the count over all pairs, ties included") {
  Rng rng(2);
  for (int round = 0; round < 500; ++round) {
    const int size = 2 + UniformInt(rng, 40), values = 1 + UniformInt(rng, 50);
    std::vector<double> a(size), b(size);
    for (double& value : a) value = UniformInt(rng, values);
    for (double& value : b) value = UniformInt(rng, values);
    const double expected = TauByPairs(a, b);
    if (std::isnan(expected)) {
      CHECK(std::isnan(KendallTau(a, b)));
    } else {
      CHECK(KendallTau(a, b) == doctest::Approx(expected));
      CHECK(KendallTau(b, a) == doctest::Approx(expected));
    }
  }
}

TEST_CASE("all figures by hand") {
  const std::vector<FidelityPoint> points{
      {"a", 110, 100, {98, 100, 102, 100}},   // + 10 %
      {"b", 190, 200, {200, 200, 200, 200}},  // - 5 %
      {"c", 204, 204, {}},                    //   0 %, 2 % above b: no clear pair with it
      {"d", 180, 400, {400, 400, 440, 440}},  // - 55 %
  };
  const Fidelity f = ComputeFidelity(points);
  CHECK(f.placements == 4);
  CHECK(f.mape == doctest::Approx((0.10 + 0.05 + 0 + 0.55) / 4));
  CHECK(f.max_error == doctest::Approx(0.55));
  CHECK(f.bias == doctest::Approx((-0.05 + 0) / 2));
  // MADs: a: deviations 2 0 2 0 -> 1; b: 0; d: around 420: 20. Relative: 1/100, 0, 20/420.
  CHECK(f.repeat_noise == doctest::Approx(1.4826 * 1 / 100));
  // Halves: a: 99 and 101; b equal; d: 400 and 440.
  CHECK(f.median_noise == doctest::Approx((2.0 / 100 + 0 + 40.0 / 420) / 3));
  // Even repeats a 100, b 200, d 420, odd ones a 100, b 200, d 420: the same order.
  CHECK(f.repeat_tau == 1);
  // Measured a < b < c < d, simulated a < d < b < c: 4 pairs in order, 2 not.
  CHECK(f.kendall_tau == doctest::Approx((4.0 - 2) / 6));
  CHECK(f.clear_pairs == 5);
  CHECK(f.pair_accuracy == doctest::Approx(3.0 / 5));
  CHECK(f.best_regret == 0);
  CHECK(f.top_regret == 0);
  CHECK(ComputeFidelity(points, 0.01).clear_pairs == 6);
}

TEST_CASE("regret: what trusting the simulator costs") {
  // Simulated order: b, c, a; measured best: a.
  const std::vector<FidelityPoint> points{
      {"a", 30, 100, {}}, {"b", 10, 150, {}}, {"c", 20, 120, {}}};
  CHECK(ComputeFidelity(points, 0.05, 1).top_regret == doctest::Approx(0.5));
  CHECK(ComputeFidelity(points, 0.05, 2).top_regret == doctest::Approx(0.2));
  CHECK(ComputeFidelity(points, 0.05, 3).top_regret == 0);
  CHECK(ComputeFidelity(points).top_regret == 0);
  CHECK(ComputeFidelity(points).best_regret == doctest::Approx(0.5));
}

TEST_CASE("what was not given is NaN, and a pair simulated as equal is not in order") {
  std::vector<FidelityPoint> points{{"a", 100, 100, {}}, {"b", 100, 101, {90}}};
  Fidelity f = ComputeFidelity(points);
  CHECK(std::isnan(f.repeat_noise));
  CHECK(std::isnan(f.median_noise));
  CHECK(std::isnan(f.repeat_tau));
  CHECK(f.clear_pairs == 0);
  CHECK(std::isnan(f.pair_accuracy));
  CHECK(std::isnan(f.kendall_tau));
  points[1].measured = 200;
  f = ComputeFidelity(points);
  CHECK(f.clear_pairs == 1);
  CHECK(f.pair_accuracy == 0);
}

TEST_CASE("repeats that disagree about the order say so") {
  // Even repeats: a 1, b 2, c 3; odd ones: a 1, c 2, b 3: one pair of three is the other way round.
  const std::vector<FidelityPoint> points{
      {"a", 1, 1, {1, 1}}, {"b", 2, 2, {2, 3}}, {"c", 3, 3, {3, 2, 3}}};
  CHECK(ComputeFidelity(points).repeat_tau == doctest::Approx((2.0 - 1) / 3));
}

TEST_CASE("figures do not depend on the unit or the order of distinct placements") {
  Rng rng(9);
  for (int round = 0; round < 100; ++round) {
    std::vector<FidelityPoint> points(2 + UniformInt(rng, 30));
    for (FidelityPoint& point : points) {
      point.measured = 1 + 100 * Uniform01(rng);
      point.simulated = point.measured * (0.8 + 0.4 * Uniform01(rng));
    }
    const Fidelity before = ComputeFidelity(points);
    std::reverse(points.begin(), points.end());
    for (FidelityPoint& point : points) {
      point.measured *= 1024;
      point.simulated *= 1024;
    }
    const Fidelity after = ComputeFidelity(points);
    CHECK(after.mape == doctest::Approx(before.mape));
    CHECK(after.bias == doctest::Approx(before.bias));
    CHECK(after.kendall_tau == doctest::Approx(before.kendall_tau));
    CHECK(after.clear_pairs == before.clear_pairs);
    CHECK(after.top_regret == doctest::Approx(before.top_regret));
    CHECK(before.best_regret >= before.top_regret);
    CHECK(before.top_regret >= 0);
  }
}

TEST_CASE("what cannot be compared is refused") {
  const auto message = [](std::vector<FidelityPoint> points, int top = 10) {
    return MessageOf<InputError>([&] { ComputeFidelity(points, 0.05, top); });
  };
  const FidelityPoint good{"good", 1, 1, {}};
  CHECK(message({good}) == "fidelity: 1 placements, expected at least 2");
  CHECK(message({good, {"bad", 0, 1, {}}}) ==
        "fidelity: placement \"bad\": simulated time is 0 ns, expected more than 0");
  CHECK(message({good, {"bad", 1, -2, {}}}) ==
        "fidelity: placement \"bad\": measured time is -2 ns, expected more than 0");
  CHECK(message({good, {"bad", 1, 1, {1, 0}}}) ==
        "fidelity: placement \"bad\": repeated time is 0 ns, expected more than 0");
  CHECK(message({good, good}, 0) == "fidelity: top 0, expected at least 1");
}

}  // namespace
