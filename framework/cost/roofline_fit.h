#pragma once

// The fit of a roofline (RooflineFit, cost_table.h) to measured times, in two steps, so that a fit
// without one of many samples can begin at the fit of all.
//
// Where ops that do many FLOPs per byte were not measured, times tell a rate for FLOPs badly or not
// at all: products of a batch of one say nothing of those of a batch of a thousand. Ops that
// multiply and add therefore know the typical rate of all such ops of the device kind: it decides
// where their own times do not.

#include <array>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "framework/cost/cost_table.h"

namespace emplace {

struct RooflineSample {
  double flops = 0, bytes = 0, nanos = 0;  ///< [FLOP], [B], > 0 [ns]
  int id = 0;                              ///< of the op, for leaving it out
  bool multiplies = false;                 ///< of class matmul or convolution
};

/// The rate at which half of the FLOPs of samples that multiply are done, or a higher one.
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

/// What is searched: logs of base [ns] and slope [ns/FLOP], [ns/B] of the lines of compute, memory
/// and spill. The third one's base is negative.
struct RooflineLines {
  static constexpr int kNumLines = 3;
  using Logs = Eigen::Matrix<double, 2 * kNumLines, 1>;
  Logs logs = Logs::Zero();
  std::array<bool, kNumLines> exists{};
};

/// From several starts, or from one. Deterministic.
/// @param samples       not empty
/// @param typical_rate  [FLOP/s] where the samples leave it open; 0: none
RooflineLines SearchRoofline(std::span<const RooflineSample> samples, double typical_rate);
RooflineLines SearchRoofline(std::span<const RooflineSample> samples,
                             double typical_rate,
                             RooflineLines start);

/// The same function of FLOPs and bytes in the terms of the table, without errors.
RooflineFit MakeFit(std::span<const RooflineSample> samples,
                    double typical_rate,
                    const RooflineLines& found);

}  // namespace emplace
