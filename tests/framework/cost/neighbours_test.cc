#include "framework/cost/neighbours.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/random.h"

using namespace emplace;

namespace {

OpFeatures Product(int m, int n) {
  return MakeOpFeatures(fmt::format("aten.mm(f32[{},{}]) -> f32[] {{}}", m, n), m * n, 4.0 * m * n);
}

std::vector<OpFeatures> RandomProducts(Rng& rng, int count) {
  std::vector<OpFeatures> ops;
  for (int i = 0; i < count; ++i) {
    ops.push_back(Product(1 + UniformInt(rng, 1000), 1 + UniformInt(rng, 1000)));
  }
  return ops;
}

Eigen::VectorXd RandomResiduals(Rng& rng, int count) {
  Eigen::VectorXd residuals(count);
  for (double& r : residuals) r = Uniform01(rng) - 0.3;
  return residuals;
}

TEST_CASE("nearness by hand") {
  const OpFeatures u = MakeOpFeatures("k(f32[1]) -> () {}", 0, 0);
  CHECK(Nearness(u, u, 1.5) == doctest::Approx(1));
  // log(1 + 7) - log(1 + 1) = log 4 in one number, nothing in the work.
  const OpFeatures larger = MakeOpFeatures("k(f32[7]) -> () {}", 0, 0);
  CHECK(Nearness(u, larger, 1.5) == doctest::Approx(0.5 + 0.5 * std::exp(-std::log(4) / 1.5)));
  // (log 4, log 8) in the work, another structure.
  const OpFeatures other = MakeOpFeatures("k(f64[1]) -> () {}", 3, 7);
  CHECK(Nearness(u, other, 1.5) ==
        doctest::Approx(0.5 * std::exp(-std::hypot(std::log(4), std::log(8)) / 3)));
  CHECK(Nearness(u, other, 1.5) == Nearness(other, u, 1.5));
}

TEST_CASE("one neighbour: its residual, by how near it is") {
  const OpFeatures u = Product(10, 10), v = Product(10, 20);
  const Neighbours one({u}, Eigen::VectorXd::Constant(1, 0.4), 3);
  // Weight 0.4 / (1 + 0.04), times the nearness.
  CHECK(one.LogFactor(u) == doctest::Approx(0.4 / 1.04));
  CHECK(one.LogFactor(v) == doctest::Approx(0.4 / 1.04 * Nearness(u, v, 3)));
  const Neighbours none({}, Eigen::VectorXd(0), 3);
  CHECK(none.LogFactor(u) == 0);
}

TEST_CASE("far from all neighbours nothing is corrected, and nowhere more than was missed") {
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    const int count = 1 + UniformInt(rng, 30);
    const Eigen::VectorXd residuals = RandomResiduals(rng, count);
    const Neighbours neighbours(RandomProducts(rng, count), residuals, 6);
    CHECK(std::abs(neighbours.LogFactor(MakeOpFeatures("?", 1e30, 1e30))) < 1e-3);
    for (const OpFeatures& op : RandomProducts(rng, 50)) {
      CHECK(neighbours.LogFactor(op) <= std::max(0.0, residuals.maxCoeff()));
      CHECK(neighbours.LogFactor(op) >= std::min(0.0, residuals.minCoeff()));
    }
  }
}

TEST_CASE("what is predicted for ops left out is what neighbours made of the others say") {
  Rng rng(6);
  for (int i = 0; i < 30; ++i) {
    const int count = 3 + UniformInt(rng, 20);
    const std::vector<OpFeatures> ops = RandomProducts(rng, count);
    const Eigen::VectorXd residuals = RandomResiduals(rng, count);
    std::vector<int> left_out;
    for (int k = 0; k < count - 1; ++k) {
      if (UniformInt(rng, 4) == 0) left_out.push_back(k);
    }
    std::vector<OpFeatures> others;
    std::vector<double> kept;
    for (int k = 0; k < count; ++k) {
      if (std::binary_search(left_out.begin(), left_out.end(), k)) continue;
      others.push_back(ops[k]);
      kept.push_back(residuals[k]);
    }
    const Neighbours neighbours(
        others, Eigen::Map<Eigen::VectorXd>(kept.data(), Eigen::Index(kept.size())), 3);
    const std::vector<double> told =
        PredictLeftOut(Covariance(ops, 3).inverse(), residuals, left_out);
    REQUIRE(told.size() == left_out.size());
    for (size_t k = 0; k < told.size(); ++k) {
      CHECK(told[k] == doctest::Approx(neighbours.LogFactor(ops[left_out[k]])).epsilon(1e-9));
    }
  }
}

}  // namespace
