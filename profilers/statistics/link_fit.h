#pragma once

// Latency and bandwidth of a link from timed copies, by two fits: FitLink() describes how a link
// behaves over all sizes, FitChannel() gives the one latency and bandwidth that a cluster file has.

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

/// The bandwidth of a fit whose times do not grow with the size [B/s]: more than any machine has,
/// but finite, so that files can hold it.
inline constexpr double kFlatBandwidth = 1e18;

// Both fits take points in any order. Points of weight 0 are left out. They throw InputError for
// fewer than 2 sizes, a negative size or weight, or a time that is not positive.

/// t(n) = latency + n / bandwidth with up to `max_ranges` ranges of sizes, each with a latency >= 0
/// and a bandwidth of its own. Ranges are chosen to make the largest relative error least; a
/// further range must lower it by a tenth. Several timings of one size count as their weighted
/// median. With more than one range each has at least 3 sizes. A range begins where its line
/// crosses the one before, if that is between their points, else at its first size; the first
/// begins at 0.
/// @return ascending by LinkRange::from_bytes
std::vector<LinkRange> FitLink(std::span<const LinkPoint> points, int max_ranges = 3);
/// Time that the ranges give for a copy [ns]. @param ranges  not empty, as FitLink() returns them
double LinkTime(std::span<const LinkRange> ranges, double bytes);
/// Largest |LinkTime() - time| / time over the points, whatever their weight.
double MaxRelativeError(std::span<const LinkRange> ranges, std::span<const LinkPoint> points);

/// One range for all sizes: the line with the least sum of weight * absolute error. With weights
/// that say how often each copy happens, the total time of all copies comes out right.
LinkRange FitChannel(std::span<const LinkPoint> points);

}  // namespace emplace
