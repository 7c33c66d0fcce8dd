#pragma once

// Baselines, which are subtracted from a cost before it weights a gradient.
//
//   moving_average   b <- decay b + (1 - decay) mean(costs), after use (ICML 2017);
//                    starts at the failing cost or at the first mean
//   leave_one_out    for each sample the mean of the others (Kool et al. 2019);
//                    a single sample has the advantage 0
//   none

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
  /// Returns the advantages costs[i] - b(i), then updates the baseline.
  /// @param costs  [K] costs of the placements that count
  std::vector<double> Advantages(std::span<const double> costs);
  /// Returns the current average (leave_one_out: the last mean). NaN for `none`, and before the
  /// first costs if the average starts at their mean.
  double value() const { return value_; }
  void VisitState(StateVisitor& v) { v.Double("a baseline", value_); }
  /// Forgets all costs.
  void Reset();

 private:
  BaselineConfig config_;
  double failing_cost_;
  double value_;
};

/// Returns the factor that makes the root mean square of the advantages 1; 0 if they are only
/// rounding errors.
/// @param largest  largest absolute value of the numbers whose differences are the advantages
double NormalizingFactor(std::span<const double> advantages, double largest);

/// Divides the advantages by their root mean square, so that step sizes do not depend on the unit
/// of the costs. Differences that are only rounding errors become 0.
/// @param advantages  [K]   @param costs  [K] from which they were computed
void NormalizeAdvantages(std::vector<double>& advantages, std::span<const double> costs);

}  // namespace emplace
