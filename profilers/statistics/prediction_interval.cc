#include "profilers/statistics/prediction_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/results/record.h"

namespace emplace {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

double QuantileOfSortedScores(std::span<const double> sorted, double level) {
  // A product such as 10 * 0.9 may exceed the integer that it equals exactly.
  constexpr double kRounding = 1e-9;
  const double place = static_cast<double>(sorted.size() + 1) * level;
  if (place > static_cast<double>(sorted.size()) + kRounding) return kUnbounded;
  const auto rank = std::min(static_cast<size_t>(place + kRounding), sorted.size());  // from 1
  const double below = rank == 0 ? 0 : sorted[rank - 1];
  if (rank == sorted.size()) return below;
  return below + std::max(0.0, place - static_cast<double>(rank)) * (sorted[rank] - below);
}

// Returns the median of sorted values without the one at `without`; size(): of all. At least one
// value must remain.
double MedianOfSorted(std::span<const double> sorted, size_t without) {
  const size_t count = sorted.size() - (without < sorted.size() ? 1 : 0);
  const auto at = [&](size_t rank) { return sorted[rank < without ? rank : rank + 1]; };
  return (at((count - 1) / 2) + at(count / 2)) / 2;
}

// The likely log ratios of a new placement.
struct LogInterval {
  double middle = 0, distance = kUnbounded;

  bool Contains(double log_ratio) const { return std::abs(log_ratio - middle) <= distance; }
};

LogInterval LogIntervalOf(std::span<const double> sorted, double level) {
  if (sorted.size() < 2) return {};
  std::vector<double> scores;
  for (size_t i = 0; i < sorted.size(); ++i) {
    scores.push_back(std::abs(sorted[i] - MedianOfSorted(sorted, i)));
  }
  std::sort(scores.begin(), scores.end());
  return {MedianOfSorted(sorted, sorted.size()), QuantileOfSortedScores(scores, level)};
}

// Returns the share of log ratios that lie in the interval of the others.
double LeaveOneOutCoverage(std::span<const double> sorted, double level) {
  int covered = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    std::vector<double> others(sorted.begin(), sorted.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const LogInterval interval = LogIntervalOf(others, level);
    if (std::isinf(interval.distance)) return std::numeric_limits<double>::quiet_NaN();
    covered += interval.Contains(sorted[i]);
  }
  return static_cast<double>(covered) / static_cast<double>(sorted.size());
}

}  // namespace

double LogRatio(double simulated, double measured) {
  const auto is_time = [](double time) { return time > 0 && std::isfinite(time); };
  if (is_time(simulated) && is_time(measured)) return std::log(measured / simulated);
  throw InputError(
      fmt::format("held-out step: simulated {} ns, measured {} ns; expected finite times above 0",
                  simulated,
                  measured));
}

double ConformalQuantile(std::span<const double> scores, double level) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  return QuantileOfSortedScores(sorted, level);
}

bool PredictionInterval::is_bounded() const {
  return std::isfinite(high);
}

TimeInterval PredictionInterval::Around(double simulated) const {
  return {simulated * low, simulated * high};
}

PredictionInterval CalibrateInterval(std::span<const double> log_ratios, double level) {
  if (!(level > 0 && level < 1)) {
    throw InputError(
        fmt::format("interval: level {}, expected a share above 0 and below 1", level));
  }
  for (const double log_ratio : log_ratios) {
    if (std::isfinite(log_ratio)) continue;
    throw InputError(fmt::format("interval: log ratio {}, expected a finite number", log_ratio));
  }
  std::vector<double> sorted(log_ratios.begin(), log_ratios.end());
  std::sort(sorted.begin(), sorted.end());
  PredictionInterval interval;
  interval.level = level;
  interval.held_out = static_cast<int>(sorted.size());
  const LogInterval found = LogIntervalOf(sorted, level);
  if (std::isinf(found.distance)) return interval;
  interval.low = std::exp(found.middle - found.distance);
  interval.high = std::exp(found.middle + found.distance);
  interval.held_out_coverage = LeaveOneOutCoverage(sorted, level);
  return interval;
}

IntervalFidelity CheckIntervals(std::span<const FidelityPoint> points,
                                const PredictionInterval& interval) {
  EMPLACE_CHECK(!points.empty() && interval.is_bounded());
  IntervalFidelity result;
  double repeat_shares = 0;
  int with_repeats = 0;
  std::int64_t in_order = 0;
  for (const FidelityPoint& point : points) {
    const TimeInterval around = interval.Around(point.simulated);
    result.covered += around.Contains(point.measured);
    if (point.repeats.empty()) continue;
    const auto inside = std::count_if(point.repeats.begin(), point.repeats.end(), [&](double time) {
      return around.Contains(time);
    });
    repeat_shares += static_cast<double>(inside) / static_cast<double>(point.repeats.size());
    ++with_repeats;
  }
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j) {
      const FidelityPoint& a = points[i];
      const FidelityPoint& b = points[j];
      if (interval.Around(a.simulated).Overlaps(interval.Around(b.simulated))) continue;
      ++result.distinct_pairs;
      in_order += a.simulated < b.simulated ? a.measured < b.measured : b.measured < a.measured;
    }
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  result.coverage = static_cast<double>(result.covered) / static_cast<double>(points.size());
  result.repeat_coverage = with_repeats == 0 ? kNone : repeat_shares / with_repeats;
  result.distinct_accuracy =
      result.distinct_pairs == 0
          ? kNone
          : static_cast<double>(in_order) / static_cast<double>(result.distinct_pairs);
  return result;
}

double ResolvedDifference(std::span<const double> log_ratios, double share) {
  EMPLACE_CHECK(share > 0.5 && share < 1);
  std::vector<double> differences;
  for (size_t i = 0; i < log_ratios.size(); ++i) {
    for (size_t j = i + 1; j < log_ratios.size(); ++j) {
      differences.push_back(std::abs(log_ratios[i] - log_ratios[j]));
    }
  }
  return std::expm1(ConformalQuantile(differences, 2 * share - 1));
}

void PredictionInterval::Visit(RecordVisitor& v) {
  v.Field("interval_level", level);
  v.Field("interval_low_ratio", low);
  v.Field("interval_high_ratio", high);
  v.Field("held_out", held_out);
  v.Field("held_out_coverage", held_out_coverage);
}

void IntervalFidelity::Visit(RecordVisitor& v) {
  v.Field("coverage", coverage);
  v.Field("repeat_coverage", repeat_coverage);
  v.Field("distinct_pairs", distinct_pairs);
  v.Field("distinct_accuracy", distinct_accuracy);
}

}  // namespace emplace
