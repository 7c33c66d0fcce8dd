#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "framework/cost/cost_table.h"

namespace emplace {

/// A size [B] and the time to copy it [ns], with a weight >= 0.
struct LinkPoint {
  double bytes = 0, nanos = 0, weight = 1;
};

/// The bandwidth of a fit whose times do not grow with the size: more than any machine has, finite
/// for files [B/s].
inline constexpr double kFlatBandwidth = 1e18;

// Both fits throw InputError for fewer than 2 sizes, a negative size or weight, a time that is not
// positive. Points of weight 0 are left out; several timings of one size count as their weighted
// median where relative errors are fitted.

/// t(n) = latency + n / bandwidth in up to `max_ranges` ranges; breakpoints by the least maximal
/// relative error, and no more ranges than lower it by a tenth each. Latencies are >= 0. With more
/// than one range each has at least 3 sizes. Ranges meet where their lines cross if that is between
/// their points, else the later one begins at its first size; the first begins at 0.
/// @param points  any order, at least 2 sizes @throws InputError for fewer
std::vector<LinkRange> FitLink(std::span<const LinkPoint> points, int max_ranges = 3);
double LinkTime(std::span<const LinkRange> ranges, double bytes);  ///< [ns]
double MaxRelativeError(std::span<const LinkRange> ranges, std::span<const LinkPoint> points);

/// One range for all sizes, as a channel of a cluster file has: least sum of weight * absolute
/// error, so that the total time of the copies that matter comes out right.
LinkRange FitChannel(std::span<const LinkPoint> points);

}  // namespace emplace
