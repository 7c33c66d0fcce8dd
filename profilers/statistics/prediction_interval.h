#pragma once

// How sure a simulated step time is: the interval in which its measurement lies in `level` of all
// cases, and which differences between two placements a simulation resolves.
//
// Conformal prediction, Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World" (2005)
// [R]; as a recipe: Angelopoulos and Bates, arXiv 2107.07511 (2021) [R]. Some placements are held
// out: executed, and simulated by costs that were calibrated without them. Each has a log ratio
// ln(measured / simulated), and as its score the distance of that from the median of the others'
// log ratios. If those of n held-out placements and of a new one may stand in any order (the same
// graph and machine, placements drawn alike), the new score is about as likely to be of any rank
// among the n + 1, whatever their distribution. A simulation that is off by the same share
// everywhere has narrow intervals, which are as far off as it was on the held-out placements [ours:
// distances from the median instead of from 0].

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "profilers/statistics/fidelity.h"

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// Share of measured steps that intervals are made for.
inline constexpr double kIntervalLevel = 0.9;
/// Share of pairs of placements in order that makes a simulated difference one to trust.
inline constexpr double kResolvedShare = 0.95;

/// ln(measured / simulated) @throws InputError unless both are finite and above 0, naming them
double LogRatio(double simulated, double measured);

/// The score that the share `level` of new scores does not exceed: that of rank (n + 1) level among
/// the n given ones, between two ranks linearly (and between 0 and the first). A new score is below
/// it with a probability between floor((n + 1) level) / (n + 1) and ceil((n + 1) level) / (n + 1),
/// and with `level` where its distribution function is linear between the two ranks [ours: the
/// usual choice is the upper rank, which covers too much with few scores]. Infinite if n is below
/// level / (1 - level): too few to say anything.
/// @param scores  at least 0 each, in any order; may be empty    @param level  in (0, 1)
double ConformalQuantile(std::span<const double> scores, double level);

/// Ends of an interval [ns]; `high` may be infinite.
struct TimeInterval {
  double low = 0, high = 0;

  bool Contains(double time) const { return low <= time && time <= high; }
  bool Overlaps(const TimeInterval& other) const { return low <= other.high && other.low <= high; }
};

/// What held-out placements say about new ones.
struct PredictionInterval {
  double level = kIntervalLevel;
  int held_out = 0;  ///< placements behind it
  /// An interval reaches from `low` to `high` times the simulated time; 0 and infinity: too few
  /// held-out placements.
  double low = 0, high = std::numeric_limits<double>::infinity();
  /// Share of the held-out placements that the interval made of the others covers; NaN where those
  /// are too few.
  double held_out_coverage = std::numeric_limits<double>::quiet_NaN();

  bool is_bounded() const;
  TimeInterval Around(double simulated) const;
  void Visit(RecordVisitor& v);
};

/// @param log_ratios  of the held-out placements (LogRatio()), in any order
/// @throws InputError for a level outside (0, 1) or a log ratio that is not finite
PredictionInterval CalibrateInterval(std::span<const double> log_ratios,
                                     double level = kIntervalLevel);

/// What became of intervals when placements were executed.
struct IntervalFidelity {
  int covered = 0;      ///< placements whose measured time is in their interval
  double coverage = 0;  ///< share of the placements
  double repeat_coverage =
      0;  ///< share of their repeats, mean over the placements; NaN without any
  /// Pairs of placements whose intervals do not overlap. That those of others do says nothing: two
  /// placements are off alike, and a machine of another speed moves both.
  std::int64_t distinct_pairs = 0;
  double distinct_accuracy = 0;  ///< share of them measured in that order; NaN without any

  /// All but `covered`, as results files name them.
  void Visit(RecordVisitor& v);
};

/// @param points    executed placements, none of them held out for `interval`; at least 1
/// @param interval  with bounds
IntervalFidelity CheckIntervals(std::span<const FidelityPoint> points,
                                const PredictionInterval& interval);

/// The difference between the simulated times of two placements above which their order holds in
/// `share` of all cases, as a share of the smaller time; infinite with fewer than 5 placements.
///
/// A pair simulated by d apart (as logarithm) stands in the wrong order if the difference of their
/// two log ratios is above d in the wrong direction. Either direction is as likely, so d is the
/// quantile 2 share - 1 (ConformalQuantile()) of the absolute differences over all pairs. What both
/// are off by alike cancels out.
/// @param log_ratios  of placements of one graph (LogRatio())    @param share  in (0.5, 1)
double ResolvedDifference(std::span<const double> log_ratios, double share = kResolvedShare);

}  // namespace emplace
