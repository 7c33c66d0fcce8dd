#pragma once

// Whether one placement is faster than another, by steps that were executed in the same rounds.
//
// A machine that is slower for a while slows the steps of one round alike, so the ratio of two step
// times of one round varies less than either of them. The interval of the median ratio lies between
// two order statistics chosen by the binomial distribution (that of the sign test, as in
// sampling.h): it assumes nothing of the distribution of the ratios, and that rounds are
// independent. Each comparison counts by itself: of many pairs of equal placements, one in twenty
// is called different.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "profilers/statistics/fidelity.h"

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// Least probability with which the interval of a median ratio holds it.
inline constexpr double kPairedLevel = 0.95;
/// Fewer rounds have no such interval: all of n ratios lie on one side of their median with a
/// probability of 2^(1-n), 6.25 % for 5.
inline constexpr int kLeastPairedRounds = 6;

/// How many times as long one placement takes as another.
struct PairedRatio {
  double median = 1;                                               ///< over the rounds
  double low = 0, high = std::numeric_limits<double>::infinity();  ///< with fewer rounds these
  int rounds = 0;

  bool is_bounded() const;
  /// Whether the interval leaves out 1.
  bool differs() const { return low > 1 || high < 1; }
};

/// Compares the step times of two placements, round by round. @return of b / a
/// @param a, b  [rounds], above 0, at least one [ns]
/// @throws InputError for numbers of rounds that differ or none, naming them
PairedRatio ComparePaired(std::span<const double> a, std::span<const double> b);

/// All placements that were executed in the same rounds, compared with one another.
struct PairedFidelity {
  int fastest = 0;                      ///< the placement with the least median
  std::vector<PairedRatio> to_fastest;  ///< [placements], 1 to 1 for the fastest
  std::int64_t pairs = 0;               ///< all of them
  std::int64_t differing = 0;           ///< those whose PairedRatio::differs()
  double in_order = 0;  ///< share of the latter simulated in the measured order; NaN without any

  /// The figures over all pairs, as results files name them.
  void Visit(RecordVisitor& v);
};

/// @param points  with as many repeats each, at least one    @throws InputError as ComparePaired()
PairedFidelity ComparePairs(std::span<const FidelityPoint> points);

}  // namespace emplace
