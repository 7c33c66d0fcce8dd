#pragma once

// When to stop measuring, and what the timings say. Plain arithmetic on numbers: timings come in
// through a Sampler (or are invented, in the tests).

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/cost/cost_table.h"

namespace emplace {

/// Stop as soon as the 95 % interval of the median is within `precision` of it, not before
/// `min_samples`, and in any case at `max_samples` or after `max_seconds` of timings. Something so
/// slow that `max_seconds` are over before `min_samples` is still timed `slow_samples` times.
struct StoppingRule {
  double precision = 0.01;
  std::int64_t min_samples = 10, max_samples = 200;
  double max_seconds = 0.25;  ///< sum of the timings [s]
  std::int64_t slow_samples = 3;
};

double Median(std::span<const double> values);
/// Linear interpolation between order statistics, q in [0, 1].
double Quantile(std::span<const double> values, double q);
/// Mean without the longest fiftieth, at least one of several: adds up like a mean, short
/// interruptions of a busy machine included, long ones not.
double LowerMean(std::span<const double> values);
/// Median absolute deviation from the median, times 1.4826 (a standard deviation for normal noise).
double MedianAbsoluteDeviation(std::span<const double> values);
/// Median and its distribution-free 95 % interval from order statistics (binomial); with fewer than
/// 6 values the interval is their range.
Timing Summarize(std::span<const double> timings);

enum class StopReason : std::uint8_t { kPrecise, kMaxSamples, kMaxSeconds };
std::string_view ToString(StopReason reason);
struct Sampled {
  Timing timing;
  StopReason reason = StopReason::kPrecise;
  std::vector<double> samples;
};
/// The sampler is asked for one timing, then for batches that grow with what is there, none longer
/// than the time that is left.
/// @param sampler  appends that many timings [ns] (profilers/executor/backend.h's Sampler)
/// @throws InputError for a rule that contradicts itself; RunError for a timing that is negative or
/// no number
Sampled MeasureUntilStable(
    const std::function<void(int count, std::vector<double>& timings)>& sampler,
    const StoppingRule& rule);

}  // namespace emplace
