#pragma once

// How far simulation and reality are apart, for the placements of one graph.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace {

/// One placement: what was simulated, what was measured.
struct FidelityPoint {
  std::string label;            ///< "random 3", "expert", "simulated_annealing"
  double simulated = 0;         ///< [ns]
  double measured = 0;          ///< median [ns]
  std::vector<double> repeats;  ///< [ns]
};

/// Figures that nothing was given for (noise without repeats, accuracy without clear pairs) are
/// NaN.
struct Fidelity {
  int placements = 0;
  double repeat_noise = 0;  ///< median over placements of (MAD of the repeats) / median
  double median_noise = 0;  ///< noise of a median: how far two halves of the repeats are apart,
                            ///< mean over the placements, relative; first half and second half, so
                            ///< that drift counts
  double mape = 0;          ///< mean |simulated - measured| / measured
  double max_error = 0;
  double bias = 0;           ///< median of (simulated - measured) / measured
  double kendall_tau = 0;    ///< tau-b
  double repeat_tau = 0;     ///< tau-b of the medians of every other repeat against those between:
                             ///< how well measurements agree on the order among themselves
  double pair_accuracy = 0;  ///< share of the pairs measured > `clear` apart that are in order; a
                             ///< pair simulated as equal is not
  std::int64_t clear_pairs = 0;
  double top_regret = 0;   ///< best measured of the simulated top 10 / best measured - 1
  double best_regret = 0;  ///< measured time of the simulated best / best measured - 1
};

/// @param clear  pairs count if the larger measured time is more than this share above the smaller
/// @throws InputError for fewer than 2 points, a time that is not positive, or top < 1
Fidelity ComputeFidelity(std::span<const FidelityPoint> points, double clear = 0.05, int top = 10);

/// Kendall's tau-b, O(n log n). NaN if one side is constant.
double KendallTau(std::span<const double> a, std::span<const double> b);

}  // namespace emplace
