#pragma once

// When enough timings have been taken, and what they say: median with its interval, mean, noise.
// Plain arithmetic: the timings come from a function that is passed in, a backend's sampler or, in
// tests, invented numbers. Median and quantiles themselves are in framework/base/quantile.h.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/cost/cost_table.h"

namespace emplace {

/// Stop as soon as both ends of the median's 95 % interval are within `precision` of the median,
/// but not before `min_samples` timings; in any case after `max_samples` timings or `max_seconds`.
/// Work so slow that `max_seconds` pass before `min_samples` timings is timed `slow_samples` times.
struct StoppingRule {
  double precision = 0.01;  ///< share of the median
  std::int64_t min_samples = 10, max_samples = 200;
  double max_seconds = 0.25;      ///< sum of the timings, without what lies between them [s]
  std::int64_t slow_samples = 3;  ///< counts only below min_samples
};

// The three that follow take at least one value, in any order.

/// Mean without the largest fiftieth of the values; of two or more values at least one is left out.
/// Means of parts add up to the mean of the whole, which medians do not; leaving out the largest
/// keeps the few long interruptions by other programs out of it.
double LowerMean(std::span<const double> values);
/// Median absolute deviation from the median, times 1.4826: for normally distributed noise that is
/// its standard deviation.
double MedianAbsoluteDeviation(std::span<const double> values);
/// Median, its 95 % interval, LowerMean() and the number of values. The interval lies between two
/// order statistics chosen by the binomial distribution, whatever the distribution of the values;
/// with fewer than 6 values it is their whole range.
Timing Summarize(std::span<const double> timings);

/// Measures until `rule` says stop. The sampler is asked for one timing first, then for batches: up
/// to min_samples, after that a quarter of the number so far (at least 5), as many as fit into the
/// time that is left.
/// @param sampler  appends `count` timings [ns], as Sampler in profilers/executor/backend.h
/// @throws InputError for a rule that contradicts itself, naming its values; RunError for a timing
/// that is negative or no finite number
Timing MeasureUntilStable(
    const std::function<void(int count, std::vector<double>& timings)>& sampler,
    const StoppingRule& rule);

}  // namespace emplace
