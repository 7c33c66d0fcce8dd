#include "agents/shared/policy_gradient/baseline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "framework/config/setting_error.h"

namespace emplace {

void BaselineConfig::Visit(FieldVisitor& v) {
  v.Field("method", method, "moving_average, leave_one_out or none");
  v.Field(
      "decay", decay, Between(0, 1), "share of the old moving average that stays with each update");
  v.Field("start", start, "the moving average starts at the first mean or at the failing signal");
}

Baseline::Baseline(const BaselineConfig& config, double failing_cost, const std::string& key)
    : config_(config), failing_cost_(failing_cost) {
  RequireChoice(key + ".method", config.method, {"leave_one_out", "moving_average", "none"});
  RequireChoice(key + ".start", config.start, {"failing", "first"});
  Reset();
}

void Baseline::Reset() {
  const bool failing = config_.method == "moving_average" && config_.start == "failing";
  value_ = failing ? failing_cost_ : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> Baseline::Advantages(std::span<const double> costs) {
  std::vector<double> advantages(costs.begin(), costs.end());
  if (costs.empty()) return advantages;
  const auto count = static_cast<double>(costs.size());
  const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / count;
  if (config_.method == "moving_average") {
    if (std::isnan(value_)) value_ = mean;
    for (double& advantage : advantages) advantage -= value_;
    value_ = config_.decay * value_ + (1 - config_.decay) * mean;
  } else if (config_.method == "leave_one_out") {
    // costs[i] minus the mean of the others; a single one has no others and no advantage.
    const double factor = costs.size() > 1 ? count / (count - 1) : 0;
    for (double& advantage : advantages) advantage = (advantage - mean) * factor;
    value_ = mean;
  }
  return advantages;
}

double NormalizingFactor(std::span<const double> advantages, double largest) {
  double squares = 0;
  for (double advantage : advantages) squares += advantage * advantage;
  const double rms = std::sqrt(squares / static_cast<double>(advantages.size()));
  return rms > 1e-12 * largest ? 1 / rms : 0;
}

void NormalizeAdvantages(std::vector<double>& advantages, std::span<const double> costs) {
  double largest = 0;
  for (double cost : costs) largest = std::max(largest, std::abs(cost));
  const double factor = NormalizingFactor(advantages, largest);
  for (double& advantage : advantages) advantage *= factor;
}

}  // namespace emplace
