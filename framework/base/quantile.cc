#include "framework/base/quantile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "framework/base/error.h"

namespace emplace {

double QuantileOfSorted(std::span<const double> sorted, double q) {
  EMPLACE_CHECK(!sorted.empty());
  EMPLACE_CHECK(q >= 0 && q <= 1, std::to_string(q));
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double share = place - static_cast<double>(below);
  if (share == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
  return std::lerp(sorted[below], sorted[below + 1], share);
}

double Quantile(std::vector<double> values, double q) {
  if (std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::sort(values.begin(), values.end());
  return QuantileOfSorted(values, q);
}

double WeightedMedian(std::vector<std::pair<double, double>> values) {
  EMPLACE_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  double half = 0;
  for (const auto& [value, weight] : values) half += weight / 2;
  for (const auto& [value, weight] : values) {
    half -= weight;
    if (half <= 0) return value;
  }
  return values.back().first;
}

double Median(std::vector<double> values) {
  return Quantile(std::move(values), 0.5);
}

}  // namespace emplace
