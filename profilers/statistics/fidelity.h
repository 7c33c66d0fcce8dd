#pragma once

// How far simulated and measured step times of one graph's placements are apart: errors, ranks, and
// what it costs to trust the simulation's choice. profilers/README.md shows such figures.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// One placement: what was simulated, what was measured.
struct FidelityPoint {
  std::string label;            ///< "random 3", "expert", "simulated_annealing"
  double simulated = 0;         ///< [ns]
  double measured = 0;          ///< median [ns]
  std::vector<double> repeats;  ///< [ns]
};

/// All figures are shares (0.01 is 1 %) or rank correlations. A figure without data is NaN: noise
/// without repeats, accuracy without clear pairs.
struct Fidelity {
  int placements = 0;
  /// Spread of single repeats: MedianAbsoluteDeviation() of a placement's repeats divided by their
  /// median; median over the placements.
  double repeat_noise = 0;
  /// Noise of a median: how far the medians of the first and the second half of the repeats are
  /// apart, relative to the median of all; mean over the placements. Drift of the machine counts.
  double median_noise = 0;
  double mape = 0;         ///< mean of |simulated - measured| / measured
  double max_error = 0;    ///< largest of these
  double bias = 0;         ///< median of (simulated - measured) / measured
  double kendall_tau = 0;  ///< tau-b of simulated against measured
  /// Tau-b of the medians of repeats 0, 2, 4 ... against those of repeats 1, 3, 5 ...: how well two
  /// measurements agree on the order, which a simulation can hardly surpass.
  double repeat_tau = 0;
  /// Share of the clear pairs (measured times more than `clear` apart) that the simulation has in
  /// the measured order; a pair simulated as equal is not in order.
  double pair_accuracy = 0;
  std::int64_t clear_pairs = 0;
  double top_regret = 0;   ///< best measured time among the simulated `top` / best measured - 1
  double best_regret = 0;  ///< measured time of the simulated best / best measured - 1

  /// All but `placements`, as results files name them.
  void Visit(RecordVisitor& v);
};

/// @param points  at least 2
/// @param clear  pairs count if the larger measured time is more than this share above the smaller
/// @param top  how many of the fastest simulated placements `top_regret` looks at
/// @throws InputError for fewer than 2 points, a time that is not positive, or top < 1
Fidelity ComputeFidelity(std::span<const FidelityPoint> points, double clear = 0.05, int top = 10);

/// Kendall's rank correlation tau-b (ties counted out), in [-1, 1], in O(n log n).
/// @param a, b  of equal length    @return NaN if one side is constant
double KendallTau(std::span<const double> a, std::span<const double> b);

}  // namespace emplace
