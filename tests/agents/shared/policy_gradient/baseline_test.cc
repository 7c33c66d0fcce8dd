#include "agents/shared/policy_gradient/baseline.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<double> Costs(Rng& rng, int count) {
  std::vector<double> costs(count);
  for (double& cost : costs) cost = 10 * Uniform01(rng);
  return costs;
}

TEST_CASE("the moving average starts at the first mean and moves after use") {
  Baseline baseline({.method = "moving_average", .decay = 0.75}, 100, "baseline");
  CHECK(std::isnan(baseline.value()));
  // mean 3: advantages to 3; then 0.75 * 3 + 0.25 * 3 = 3
  CHECK(baseline.Advantages(std::vector<double>{2, 4}) == std::vector<double>{-1, 1});
  CHECK(baseline.value() == 3);
  // to 3 again; then 0.75 * 3 + 0.25 * 7 = 4
  CHECK(baseline.Advantages(std::vector<double>{5, 9}) == std::vector<double>{2, 6});
  CHECK(baseline.value() == 4);
  CHECK(baseline.Advantages(std::vector<double>{}).empty());
  CHECK(baseline.value() == 4);
}

TEST_CASE("the moving average may start at the failing signal") {
  Baseline baseline({.method = "moving_average", .decay = 0.5, .start = "failing"}, 8, "baseline");
  CHECK(baseline.value() == 8);
  CHECK(baseline.Advantages(std::vector<double>{4}) == std::vector<double>{-4});
  CHECK(baseline.value() == 6);
}

TEST_CASE("leave_one_out compares each cost with the mean of the others") {
  Rng rng(1);
  for (int trial = 0; trial < 100; ++trial) {
    const int count = 2 + UniformInt(rng, 8);
    const std::vector<double> costs = Costs(rng, count);
    Baseline baseline({.method = "leave_one_out"}, 100, "baseline");
    const std::vector<double> advantages = baseline.Advantages(costs);
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      double others = 0;
      for (int j = 0; j < count; ++j) {
        if (j != i) others += costs[j];
      }
      CHECK(advantages[i] == doctest::Approx(costs[i] - others / (count - 1)));
      sum += advantages[i];
    }
    CHECK(sum == doctest::Approx(0).epsilon(1e-9));
  }
  Baseline alone({.method = "leave_one_out"}, 100, "baseline");
  CHECK(alone.Advantages(std::vector<double>{5}) == std::vector<double>{0});
}

TEST_CASE("no baseline leaves the costs") {
  Baseline baseline({.method = "none"}, 100, "baseline");
  CHECK(baseline.Advantages(std::vector<double>{5, 6}) == std::vector<double>{5, 6});
  CHECK(std::isnan(baseline.value()));
}

}  // namespace
