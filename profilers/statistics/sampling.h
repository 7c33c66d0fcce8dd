#pragma once

// Decides when enough timings have been taken, and summarises them: median with its interval, mean,
// noise. The timings come from a function that is passed in: a backend's sampler or, in tests,
// invented numbers. framework/base/quantile.h has the median and quantiles themselves.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/cost/cost_table.h"

namespace emplace {

/// Stops as soon as both ends of the median's 95 % interval are within `precision` of the median,
/// but not before `min_samples` timings; in any case after `max_samples` timings or `max_seconds`.
/// If `max_seconds` pass before `min_samples` timings, `slow_samples` timings are taken.
struct StoppingRule {
  double precision = 0.01;  ///< share of the median
  std::int64_t min_samples = 10, max_samples = 200;
  double max_seconds = 0.25;      ///< sum of the timings, without the time between them [s]
  std::int64_t slow_samples = 3;  ///< applies only below min_samples
};

// The three functions below take at least one value, in any order.

/// Returns the mean without the largest fiftieth of the values; of two or more values at least one
/// is left out. Unlike medians, means of parts add up to the mean of the whole. Leaving out the
/// largest values removes the few long interruptions by other programs.
double LowerMean(std::span<const double> values);
/// Returns the median absolute deviation from the median, times 1.4826. For normally distributed
/// noise this is its standard deviation.
double MedianAbsoluteDeviation(std::span<const double> values);
/// Returns the median, its 95 % interval, LowerMean() and the number of values. The interval lies
/// between two order statistics chosen by the binomial distribution, which makes no assumption
/// about the distribution of the values. With fewer than 6 values it is their whole range.
Timing Summarize(std::span<const double> timings);

/// Measures until `rule` is satisfied. Asks the sampler for one timing first, then for batches: up
/// to min_samples, after that a quarter of the number so far (at least 5), within the time that is
/// left.
/// @param sampler  appends `count` timings [ns], as Sampler in profilers/executor/backend.h
/// @throws InputError for a contradictory rule, naming its values; RunError for a timing that is
/// negative or not a finite number
Timing MeasureUntilStable(
    const std::function<void(int count, std::vector<double>& timings)>& sampler,
    const StoppingRule& rule);

}  // namespace emplace
