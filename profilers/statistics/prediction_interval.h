#pragma once

// Uncertainty of a simulated step time: the interval that contains its measurement in `level` of
// all cases, and the smallest simulated difference between two placements that can be trusted.
//
// Conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World"
// (2005); as a recipe: Angelopoulos and Bates, arXiv 2107.07511 (2021). Some placements are held
// out: they are executed, and simulated with costs that were calibrated without them. Each has a
// log ratio ln(measured / simulated). Its score is the distance of that from the median of the
// others' log ratios. If n held-out placements and a new one are exchangeable (the same graph and
// machine, placements drawn alike), the new score is about equally likely to have any rank among
// the n + 1, whatever their distribution. Distances are taken from the median instead of from 0, so
// a simulation with the same relative error everywhere has narrow intervals, shifted by that error.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "profilers/statistics/fidelity.h"

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// Share of measured steps that intervals are meant to contain.
inline constexpr double kIntervalLevel = 0.9;
/// A simulated difference is trusted if this share of the pairs of placements is in order.
inline constexpr double kResolvedShare = 0.95;

/// Returns ln(measured / simulated). @throws InputError naming them unless both are finite and > 0
double LogRatio(double simulated, double measured);

/// Returns the bound that the share `level` of new scores does not exceed. It is the score of rank
/// (n + 1) level among the n given ones, with linear interpolation between two ranks (and between 0
/// and the first). A new score is below it with a probability between floor((n + 1) level) / (n +
/// 1) and ceil((n + 1) level) / (n + 1), and with probability `level` if its distribution function
/// is linear between the two ranks. (The usual choice is the upper rank, which covers too much with
/// few scores.) Infinite if n < level / (1 - level): there are too few scores.
/// @param scores  at least 0 each, in any order; may be empty    @param level  in (0, 1)
double ConformalQuantile(std::span<const double> scores, double level);

/// Bounds of an interval [ns]; `high` may be infinite.
struct TimeInterval {
  double low = 0, high = 0;

  bool Contains(double time) const { return low <= time && time <= high; }
  bool Overlaps(const TimeInterval& other) const { return low <= other.high && other.low <= high; }
};

/// The prediction interval that follows from held-out placements.
struct PredictionInterval {
  double level = kIntervalLevel;
  int held_out = 0;  ///< number of held-out placements
  /// An interval reaches from `low` to `high` times the simulated time; 0 and infinity if there are
  /// too few held-out placements.
  double low = 0, high = std::numeric_limits<double>::infinity();
  /// Share of the held-out placements that lie in the interval made from the others; NaN if there
  /// are too few others.
  double held_out_coverage = std::numeric_limits<double>::quiet_NaN();

  bool is_bounded() const;
  TimeInterval Around(double simulated) const;
  void Visit(RecordVisitor& v);
};

/// @param log_ratios  of the held-out placements (LogRatio()), in any order
/// @throws InputError for a level outside (0, 1) or a log ratio that is not finite
PredictionInterval CalibrateInterval(std::span<const double> log_ratios,
                                     double level = kIntervalLevel);

/// Comparison of intervals with the measured times of executed placements.
struct IntervalFidelity {
  int covered = 0;      ///< placements whose measured time is in their interval
  double coverage = 0;  ///< share of the placements
  double repeat_coverage =
      0;  ///< share of their repeats, mean over the placements; NaN without any
  /// Pairs of placements whose intervals do not overlap. An overlap gives no information, because
  /// the errors of two placements are similar and a change of the machine's speed shifts both.
  std::int64_t distinct_pairs = 0;
  double distinct_accuracy = 0;  ///< share of these measured in that order; NaN if none

  /// Visits all fields but `covered`, with the names of results files.
  void Visit(RecordVisitor& v);
};

/// @param points    executed placements, none of them held out for `interval`; at least 1
/// @param interval  with bounds
IntervalFidelity CheckIntervals(std::span<const FidelityPoint> points,
                                const PredictionInterval& interval);

/// Returns the difference between two simulated times above which the order of the placements is
/// right in `share` of all cases, as a share of the smaller time; infinite with fewer than 5
/// placements.
///
/// A pair simulated d apart (as logarithm) is in the wrong order if the difference of its two log
/// ratios exceeds d in the wrong direction. Both directions are equally likely, so d is the
/// quantile 2 share - 1 (ConformalQuantile()) of the absolute differences over all pairs. Errors
/// that both placements share cancel out.
/// @param log_ratios  of placements of one graph (LogRatio())    @param share  in (0.5, 1)
double ResolvedDifference(std::span<const double> log_ratios, double share = kResolvedShare);

}  // namespace emplace
