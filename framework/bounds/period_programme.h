#pragma once

// The mixed-integer program of the period (period_bound.h). x_ud is 1 if group u is on device d.
// The transfers of each item into d and out of d have their own columns (with two devices, one
// column for both ends), so that the value of a solution with integral x is its period, for any
// routes. For the most expensive groups u, further rows demand that a device with u pays at least
// t_u for transfers (device_cuts.h), and a row per device demands its least payment
// (least_payment.h). Without these rows the relaxation would split every group among equal devices,
// which then pay nothing.
//
// In the program of classes, all devices of a class are one device, with the time and the memory of
// all. A transfer between two classes takes the least time between their devices. Transfers within
// a class are one column: with the transfers to other classes they take at least the least payment
// of the class. So the least value is at most the least period. The program has no equal devices.
// It decides which groups a CPU takes from several GPUs.

#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/least_payment.h"
#include "framework/bounds/mip.h"
#include "framework/placement/placement.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Returns for each device the first one that is interchangeable with it: of equal costs, memory
/// and transfer times. Unlike InterchangeableDevices() of framework/cluster/symmetry.h, it ignores
/// slots, gaps, and the channels that routes share, on which the period does not depend.
std::vector<int> InterchangeableDevices(const CompiledPeriod& problem);

/// Returns for each device the first one of its class. The devices of a class have equal costs, and
/// either all of them pay for transfers or none.
std::vector<int> ClassesOfEqualCosts(const CompiledPeriod& problem);

/// The program of the placements with a period of less than `known`.
struct PeriodProgramme {
  /// @param known     > 0, the period of a placement or larger [ns]
  /// @param least     for placements with a period of less than `known`
  /// @param class_of  [num_devices] the first device of the class of each, as for `least`; empty:
  ///   each device is a class
  PeriodProgramme(const CompiledPeriod& problem,
                  Nanos known,
                  const LeastPayments& least,
                  std::span<const int> class_of = {});

  /// Returns the placement with the device of largest share for each group of a solution; with
  /// classes, the first device of the class.
  Placement Round(std::span<const double> solution) const;
  /// Returns the least integer time that a value bounds from below; 0 for negative values. [ns]
  Nanos ToNanos(double value) const;
  /// Returns the cutoff for values if a placement of this period is known: half a nanosecond less,
  /// or less by a share of 1e-7, so that solutions equal to it within rounding are not searched.
  double Cutoff(Nanos known_period) const;
  /// Returns the columns of a group to try: of interchangeable devices without a group, the first.
  std::vector<int> Branches(int group, std::span<const int> decided) const;

  LinearModel model;
  double unit = 1;                        ///< ns of one unit of value
  std::vector<std::vector<int>> columns;  ///< [num_groups] of x, one per class to try
  std::vector<double> weight;             ///< [num_groups] largest are decided first

 private:
  std::vector<int> device_, first_alike_;  // [columns] (-1: no x), [num_devices]
};

}  // namespace emplace
