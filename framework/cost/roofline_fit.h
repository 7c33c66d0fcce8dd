#pragma once

// The fit of a roofline (RooflineFit, cost_table.h) to measured times. It has two steps, so that a
// fit without one of many samples can start at the fit to all.
//
// If no op with many FLOPs per byte was measured, the times determine the rate for FLOPs poorly or
// not at all: products with a batch of one do not predict those with a batch of a thousand. So for
// ops that multiply and add, the fit uses the typical rate of all such ops of the device kind where
// their own times do not determine one.

#include <array>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "framework/cost/cost_table.h"

namespace emplace {

struct RooflineSample {
  double flops = 0, bytes = 0, nanos = 0;  ///< [FLOP], [B], > 0 [ns]
  int id = 0;                              ///< of the op, by which it can be left out
  bool multiplies = false;                 ///< of class matmul or convolution
};

/// The median rate of the samples that multiply, weighted by their FLOPs.
class TypicalRate {
 public:
  explicit TypicalRate(std::span<const RooflineSample> samples);
  /// @param left_out  ids, ascending   @return [FLOP/s]; 0: no other sample multiplies
  double Without(std::span<const int> left_out = {}) const;

 private:
  struct Op {
    double rate, flops;  // [FLOP/s], [FLOP]
    int id;
  };
  std::vector<Op> ops_;  // by rate
};

/// The parameters of the search: logs of base [ns] and slope [ns/FLOP], [ns/B] of the lines for
/// compute, memory and spill. The base of the third line is negative.
struct RooflineLines {
  static constexpr int kNumLines = 3;
  using Logs = Eigen::Matrix<double, 2 * kNumLines, 1>;
  Logs logs = Logs::Zero();
  std::array<bool, kNumLines> exists{};
};

/// Fits the lines from several starts, or from one. Deterministic.
/// @param samples       not empty
/// @param typical_rate  [FLOP/s] used where the samples do not determine the rate; 0: none
RooflineLines SearchRoofline(std::span<const RooflineSample> samples, double typical_rate);
RooflineLines SearchRoofline(std::span<const RooflineSample> samples,
                             double typical_rate,
                             RooflineLines start);

/// Converts the lines to the parameters of the table, without errors.
RooflineFit MakeFit(std::span<const RooflineSample> samples,
                    double typical_rate,
                    const RooflineLines& found);

}  // namespace emplace
