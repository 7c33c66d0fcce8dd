#pragma once

// Decides whether one placement is faster than another, from steps executed in the same rounds.
//
// A temporary slowdown of the machine affects all steps of a round alike, so the ratio of two step
// times of one round varies less than either of them. The interval of the median ratio lies between
// two order statistics chosen by the binomial distribution (as in the sign test and in sampling.h).
// It assumes that rounds are independent, but nothing about the distribution of the ratios. The
// interval is not corrected for multiple comparisons: among many pairs of equal placements, one in
// twenty is called different.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "profilers/statistics/fidelity.h"

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// Least probability with which the interval of a median ratio contains the true median.
inline constexpr double kPairedLevel = 0.95;
/// With fewer rounds there is no such interval: all of n ratios lie on one side of their median
/// with probability 2^(1-n), 6.25 % for 5.
inline constexpr int kLeastPairedRounds = 6;

/// The ratio of the step times of two placements.
struct PairedRatio {
  double median = 1;                                               ///< over the rounds
  double low = 0, high = std::numeric_limits<double>::infinity();  ///< these if rounds are too few
  int rounds = 0;

  bool is_bounded() const;
  /// Returns whether the interval does not contain 1.
  bool differs() const { return low > 1 || high < 1; }
};

/// Compares the step times of two placements, round by round. @return the ratio b / a
/// @param a, b  [rounds], above 0, at least one [ns]
/// @throws InputError for unequal or zero numbers of rounds, naming them
PairedRatio ComparePaired(std::span<const double> a, std::span<const double> b);

/// Comparison of all placements that were executed in the same rounds.
struct PairedFidelity {
  int fastest = 0;                      ///< the placement with the smallest median
  std::vector<PairedRatio> to_fastest;  ///< [placements], 1 for the fastest
  std::int64_t pairs = 0;               ///< number of all pairs
  std::int64_t differing = 0;           ///< number of pairs with PairedRatio::differs()
  double in_order = 0;  ///< share of those simulated in the measured order; NaN if there are none

  /// Visits the values over all pairs, with the names of results files.
  void Visit(RecordVisitor& v);
};

/// @param points  with equally many repeats, at least one    @throws InputError as ComparePaired()
PairedFidelity ComparePairs(std::span<const FidelityPoint> points);

}  // namespace emplace
