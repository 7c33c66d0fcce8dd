#pragma once

// Fits latency and bandwidth of a link to timed copies. FitLink() describes a link over all sizes;
// FitChannel() gives the one latency and bandwidth that a cluster file has.

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

/// The bandwidth of a fit whose times do not grow with the size [B/s]. It is larger than any real
/// bandwidth, but finite, so that files can hold it.
inline constexpr double kFlatBandwidth = 1e18;

// Both fits take points in any order and ignore points of weight 0. They throw InputError for fewer
// than 2 sizes, a negative size or weight, or a time that is not positive.

/// Fits t(n) = latency + n / bandwidth with up to `max_ranges` ranges of sizes. Each range has its
/// own latency >= 0 and bandwidth. Ranges are chosen to minimise the largest relative error; a
/// further range must lower it by a tenth. Several timings of one size count as their weighted
/// median. With more than one range, each has at least 3 sizes. A range begins where its line
/// crosses the previous one if that is between their points, else at its first size; the first
/// range begins at 0.
/// @return ascending by LinkRange::from_bytes
std::vector<LinkRange> FitLink(std::span<const LinkPoint> points, int max_ranges = 3);
/// Returns the time of a copy by the ranges [ns]. @param ranges  from FitLink(), not empty
double LinkTime(std::span<const LinkRange> ranges, double bytes);
/// Returns the largest |LinkTime() - time| / time over the points, regardless of their weights.
double MaxRelativeError(std::span<const LinkRange> ranges, std::span<const LinkPoint> points);

/// Fits one range for all sizes: the line with the least sum of weight * absolute error. If the
/// weights are the numbers of occurrences of each copy, the total time of all copies is right.
LinkRange FitChannel(std::span<const LinkPoint> points);

}  // namespace emplace
