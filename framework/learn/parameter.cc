#include "framework/learn/parameter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "framework/base/error.h"

namespace emplace {

Parameter& ParameterSet::Add(std::string name, int rows, int cols) {
  EMPLACE_CHECK(rows >= 0 && cols >= 0, name);
  EMPLACE_CHECK(std::ranges::none_of(parameters_, [&](auto& p) { return p.name == name; }), name);
  return parameters_.emplace_back(
      Parameter{std::move(name), Matrix::Zero(rows, cols), Matrix::Zero(rows, cols)});
}

Parameter& ParameterSet::AddUniform(std::string name, int rows, int cols, float bound, Rng& rng) {
  Parameter& parameter = Add(std::move(name), rows, cols);
  for (float& entry : parameter.value.reshaped<Eigen::RowMajor>()) {
    entry = static_cast<float>(bound * (2 * Uniform01(rng) - 1));
  }
  return parameter;
}

Parameter& ParameterSet::AddGlorot(std::string name, int rows, int cols, Rng& rng) {
  const float bound = std::sqrt(6.0F / static_cast<float>(std::max(1, rows + cols)));
  return AddUniform(std::move(name), rows, cols, bound, rng);
}

std::int64_t ParameterSet::num_values() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters_) count += p.value.size();
  return count;
}

void ParameterSet::ClearGradients() {
  for (Parameter& p : parameters_) p.gradient.setZero();
}

double ParameterSet::GradientNorm() const {
  std::array<double, 8> sums = {};  // one sum is a chain of additions that the processor waits for
  for (const Parameter& p : parameters_) {
    const float* g = p.gradient.data();
    const Eigen::Index size = p.gradient.size(), whole = size - size % std::ssize(sums);
    for (Eigen::Index i = 0; i < whole; i += std::ssize(sums)) {
      for (std::size_t lane = 0; lane < sums.size(); ++lane) {
        sums[lane] += double{g[i + lane]} * g[i + lane];
      }
    }
    for (Eigen::Index i = whole; i < size; ++i) sums[0] += double{g[i]} * g[i];
  }
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace emplace
