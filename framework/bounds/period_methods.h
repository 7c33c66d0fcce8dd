#pragma once

// The methods that bound the period beyond "work" and "group" (period_bound.h), one after another.
// All but the first work on the problem in which groups that share a device in all better
// placements are merged.

#include <cstdint>
#include <functional>

#include "framework/base/time.h"
#include "framework/bounds/least_payment.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

enum class PeriodMethod : std::uint8_t {
  kCuts,            ///< device_cuts.h
  kSpreading,       ///< the merging, and spreading.h
  kDeviceSets,      ///< device_sets.h
  kBranchAndBound,  ///< period_programme.h, mip.h
};
inline constexpr int kNumPeriodMethods = 4;
/// Returns the name in results.
const char* NameOf(PeriodMethod method);

struct PeriodProof {
  Nanos least = 1;              ///< > 0, a known bound [ns]
  Nanos known = 0;              ///< > 0, the period of a placement, or MostPeriod() [ns]
  LeastPayments payments = {};  ///< for placements with a period of less than `known`
  /// Called often; true ends the method, or it may throw.
  std::function<bool(PeriodMethod)> stop;
  /// Called with bounds; none is larger than `known` or the period of a placement that was found.
  /// [ns]
  std::function<void(Nanos, PeriodMethod)> told;
  /// If set, called with placements. Returns the period; kMaxNanos if it does not fit. [ns]
  std::function<Nanos(const Placement&)> found;
};

/// Runs the methods until the best placement is proved, or all have ended.
void ProveByPeriodMethods(const Problem& problem, const PeriodProof& proof);

}  // namespace emplace
