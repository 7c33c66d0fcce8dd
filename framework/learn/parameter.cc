#include "framework/learn/parameter.h"

#include <algorithm>
#include <cmath>
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
  double sum = 0;
  for (const Parameter& p : parameters_) sum += p.gradient.cast<double>().squaredNorm();
  return std::sqrt(sum);
}

}  // namespace emplace
