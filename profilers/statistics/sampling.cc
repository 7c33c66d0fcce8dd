#include "profilers/statistics/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/quantile.h"

namespace emplace {
namespace {

std::vector<double> Sorted(std::span<const double> values) {
  EMPLACE_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Returns the number of order statistics outside the 95 % interval on each side: the largest k with
// P(Binomial(n, 1/2) < k) <= 2.5 %, minus one. The interval is then [x_(k), x_(n + 1 - k)].
size_t OutsideInterval(size_t n) {
  // P(Binomial = i), computed from logarithms because 2^-n underflows.
  const double log_half_n = -static_cast<double>(n) * std::log(2.0);
  double log_choose = 0, below = 0;
  size_t k = 0;
  while (k < n) {
    below += std::exp(log_choose + log_half_n);
    if (below > 0.025) break;
    log_choose += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
    ++k;
  }
  return k == 0 ? 0 : k - 1;
}

void RequireRule(const StoppingRule& rule) {
  if (!(rule.precision >= 0) || rule.min_samples < 1 || rule.slow_samples < 1 ||
      rule.max_samples < rule.min_samples || !(rule.max_seconds > 0)) {
    throw InputError(
        fmt::format("stopping rule: precision {}, samples {} to {} ({} if slow), {} s; expected a "
                    "precision >= 0, 1 <= min_samples <= max_samples, slow_samples >= 1 and "
                    "max_seconds > 0",
                    rule.precision,
                    rule.min_samples,
                    rule.max_samples,
                    rule.slow_samples,
                    rule.max_seconds));
  }
}

bool IsPrecise(const Timing& timing, double precision) {
  const double slack = precision * timing.median;
  return timing.high - timing.median <= slack && timing.median - timing.low <= slack;
}

}  // namespace

double MedianAbsoluteDeviation(std::span<const double> values) {
  std::vector<double> deviations(values.begin(), values.end());
  const double median = Median(deviations);
  for (double& deviation : deviations) deviation = std::abs(deviation - median);
  return 1.4826 * Median(std::move(deviations));
}

double LowerMean(std::span<const double> values) {
  std::vector<double> sorted = Sorted(values);
  const size_t longest = (sorted.size() + 49) / 50;
  sorted.resize(std::max<size_t>(1, sorted.size() - longest));
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
}

Timing Summarize(std::span<const double> timings) {
  const std::vector<double> sorted = Sorted(timings);
  const size_t outside = OutsideInterval(sorted.size());
  return {.median = QuantileOfSorted(sorted, 0.5),
          .low = sorted[outside],
          .high = sorted[sorted.size() - 1 - outside],
          .samples = static_cast<std::int64_t>(sorted.size()),
          .mean = LowerMean(sorted)};
}

Timing MeasureUntilStable(
    const std::function<void(int count, std::vector<double>& timings)>& sampler,
    const StoppingRule& rule) {
  RequireRule(rule);
  std::vector<double> samples;
  const double budget = rule.max_seconds * 1e9;
  double spent = 0;
  const auto sample = [&](std::int64_t count) {
    const size_t before = samples.size();
    sampler(static_cast<int>(count), samples);
    EMPLACE_CHECK(samples.size() == before + static_cast<size_t>(count),
                  fmt::format("{} timings instead of {}", samples.size() - before, count));
    for (size_t i = before; i < samples.size(); ++i) {
      if (!(samples[i] >= 0) || !std::isfinite(samples[i])) {
        throw RunError(fmt::format("a timing of {} ns, expected a number >= 0", samples[i]));
      }
      spent += samples[i];
    }
  };

  std::int64_t batch = 1;
  while (true) {
    sample(batch);
    const auto count = static_cast<std::int64_t>(samples.size());
    const Timing timing = Summarize(samples);
    const std::int64_t slow = std::min(rule.slow_samples, rule.max_samples);
    if (count >= rule.min_samples && IsPrecise(timing, rule.precision)) return timing;
    if (count >= rule.max_samples || (spent >= budget && count >= slow)) return timing;
    batch =
        count < rule.min_samples ? rule.min_samples - count : std::max<std::int64_t>(5, count / 4);
    batch = std::min(batch, rule.max_samples - count);
    const double fitting = timing.median > 0
                               ? std::floor(std::max(0.0, budget - spent) / timing.median)
                               : static_cast<double>(batch);
    const std::int64_t least = std::max<std::int64_t>(1, slow - count);
    if (fitting < static_cast<double>(batch)) {
      batch = std::max(static_cast<std::int64_t>(fitting), std::min(least, batch));
    }
  }
}

}  // namespace emplace
