#pragma once

// Compares simulated and measured step times of one graph's placements: errors, ranks, and the cost
// of trusting the simulation's choice. profilers/FIDELITY.md shows such results.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace {

class RecordVisitor;  // framework/results/record.h

/// The simulated and measured times of one placement.
struct FidelityPoint {
  std::string label;            ///< "random 3", "expert", "simulated_annealing"
  double simulated = 0;         ///< [ns]
  double measured = 0;          ///< median [ns]
  std::vector<double> repeats;  ///< [ns]
};

/// All values are shares (0.01 is 1 %) or rank correlations. A value without data is NaN: noise
/// without repeats, accuracy without clear pairs.
struct Fidelity {
  int placements = 0;
  /// Spread of single repeats: MedianAbsoluteDeviation() of a placement's repeats divided by their
  /// median; median over the placements.
  double repeat_noise = 0;
  /// Noise of a median: distance between the medians of the first and second half of the repeats,
  /// relative to the median of all; mean over the placements. Includes drift of the machine.
  double median_noise = 0;
  double mape = 0;         ///< mean of |simulated - measured| / measured
  double max_error = 0;    ///< largest of these
  double bias = 0;         ///< median of (simulated - measured) / measured
  double kendall_tau = 0;  ///< tau-b of simulated against measured
  /// Tau-b of the medians of repeats 0, 2, 4 ... against those of repeats 1, 3, 5 ...: how well two
  /// measurements agree on the order. A simulation can hardly surpass it.
  double repeat_tau = 0;
  /// Share of the clear pairs (measured times more than `clear` apart) that the simulation puts in
  /// the measured order; a pair with equal simulated times is not in order.
  double pair_accuracy = 0;
  std::int64_t clear_pairs = 0;
  double top_regret = 0;   ///< best measured time among the simulated `top` / best measured - 1
  double best_regret = 0;  ///< measured time of the simulated best / best measured - 1

  /// Visits all fields but `placements`, with the names of results files.
  void Visit(RecordVisitor& v);
};

/// @param points  at least 2
/// @param clear  pairs count if the larger measured time is more than this share above the smaller
/// @param top  number of the fastest simulated placements in `top_regret`
/// @throws InputError for fewer than 2 points, a time that is not positive, or top < 1
Fidelity ComputeFidelity(std::span<const FidelityPoint> points, double clear = 0.05, int top = 10);

/// Returns Kendall's rank correlation tau-b (corrected for ties), in [-1, 1], in O(n log n).
/// @param a, b  of equal length    @return NaN if one side is constant
double KendallTau(std::span<const double> a, std::span<const double> b);

}  // namespace emplace
