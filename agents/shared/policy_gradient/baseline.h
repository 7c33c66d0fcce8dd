#pragma once

// What is subtracted from a cost before it weighs a gradient.
//
//   moving_average   b <- decay b + (1 - decay) mean(costs), after use (ICML 2017 [V]);
//                    starts at the failing cost [R] or at the first mean
//   leave_one_out    for each sample the mean of the others (Kool et al. 2019) [ours];
//                    a single sample has the advantage 0
//   none
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <span>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/search/state.h"

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
  void VisitState(StateVisitor& v) { v.Double("a baseline", value_); }
  /// Forgets all costs.
  void Reset();

 private:
  BaselineConfig config_;
  double failing_cost_;
  double value_;
};

/// What makes the root mean square of the advantages 1; 0 if it is no more than rounding.
/// @param largest  of the absolute values that the advantages are differences of
double NormalizingFactor(std::span<const double> advantages, double largest);

/// Divides by the root mean square, so that steps mean the same whatever costs are measured in;
/// differences that are no more than rounding become 0.
/// @param advantages  [K]   @param costs  [K] that they were made of
void NormalizeAdvantages(std::vector<double>& advantages, std::span<const double> costs);

}  // namespace emplace
