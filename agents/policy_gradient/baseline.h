#pragma once

// What is subtracted from a cost before it weighs a gradient.
//
//   moving_average   b <- decay b + (1 - decay) mean(costs), after use (ICML 2017 [V]);
//                    starts at the failing cost [R] or at the first mean
//   leave_one_out    for each sample the mean of the others (Kool et al. 2019) [ours];
//                    a single sample has the advantage 0
//   none

#include <span>
#include <string>
#include <vector>

#include "framework/config/fields.h"

namespace emplace {

struct BaselineConfig {
  std::string method = "moving_average";
  double decay = 0.9;
  std::string start = "first";  ///< or "failing"
  void Visit(FieldVisitor& v);
};

class Baseline {
 public:
  /// @throws SettingError
  Baseline(const BaselineConfig& config, double failing_cost, const std::string& key);
  /// costs[i] - b(i); then takes the costs into account. @param costs  [K], only those that count
  std::vector<double> Advantages(std::span<const double> costs);
  /// The present average (leave_one_out: the last mean); NaN before the first costs if it starts at
  /// them, and for `none`.
  double value() const { return value_; }
  void set_value(double value) { value_ = value; }

 private:
  BaselineConfig config_;
  double value_;
};

/// Divides by the root mean square, so that steps mean the same whatever costs are measured in;
/// differences that are no more than rounding become 0.
/// @param advantages  [K]   @param costs  [K] that they were made of
void NormalizeAdvantages(std::vector<double>& advantages, std::span<const double> costs);

}  // namespace emplace
