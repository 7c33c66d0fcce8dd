#pragma once

// The mixed-integer programme of the period (period_bound.h). x_ud is 1 if group u is on device d;
// the transfers of each item into d and out of d are columns of their own, so that solutions with
// whole x have the period as value, on any routes. Of the dearest groups u the programme says, too,
// that a device with u pays at least t_u for transfers (device_cuts.h): without that its relaxation
// shares every group out among equal devices, which pay nothing.

#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/mip.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Of each device the first one that is interchangeable with it: of equal costs, memory and
/// transfer times. Unlike InterchangeableDevices() of framework/cluster/symmetry.h it leaves out
/// what the period does not know: slots, gaps, and which channels routes share.
/// @return [num_devices]
std::vector<int> InterchangeableDevices(const CompiledPeriod& problem);

/// The programme of the placements with a period of less than `known`.
struct PeriodProgramme {
  /// @param known  > 0, of some placement or larger [ns]
  PeriodProgramme(const CompiledPeriod& problem, Nanos known);

  /// The best device of each group in a solution, whole or not.
  Placement Round(std::span<const double> solution) const;
  /// The least whole number of ns that a value bounds from below; 0 for negative ones.
  Nanos ToNanos(double value) const;
  /// The least value of no interest when a placement of this period is known: half a nanosecond
  /// less, or a share of 1e-7, so that what is as good within rounding is not searched.
  double Cutoff(Nanos known_period) const;
  /// The columns of a group to try: of interchangeable devices without a group, the first.
  std::vector<int> Branches(int group, std::span<const int> decided) const;

  LinearModel model;
  double unit = 1;                        ///< ns of one unit of value
  std::vector<std::vector<int>> columns;  ///< [num_groups] of x, one per device that is tried
  std::vector<double> weight;             ///< [num_groups] order of decisions

 private:
  std::vector<int> device_, first_alike_;  // [columns] (-1: no x), [num_devices]
};

}  // namespace emplace
