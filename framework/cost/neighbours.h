#pragma once

// What the fit of a cost table misses of an op, from what it misses of measured ops of the same
// kind: ops near one another are off alike. A Gaussian process over the logs of measured times
// (Rasmussen and Williams 2006, section 2.2) whose mean is the fit, with the covariance
//
//   k(u, v) = (exp(-d(u, v) / 3) + [one structure] exp(-e(u, v) / length)) / 2
//
// where d is the distance of (log(1 + F), log(1 + B)), and e that of the signatures' numbers
// (signature_features.h). Far from all that was measured nothing is corrected, so that there the
// fit decides; and no correction goes beyond what the fit misses of an op of the kind.

#include <span>
#include <vector>

#include <Eigen/Dense>

#include "framework/cost/signature_features.h"

namespace emplace {

/// An op as its neighbours see it.
struct OpFeatures {
  double log_flops = 0, log_bytes = 0;  ///< log(1 + F), log(1 + B)
  SignatureFeatures signature;
};
OpFeatures MakeOpFeatures(std::string_view signature, double flops, double bytes);

/// k(u, v) of two ops of one kind. @param length  > 0   @return in [0, 1]
double Nearness(const OpFeatures& u, const OpFeatures& v, double length);

/// [n, n]: k of ops of one kind, with the variance of a measurement, 0.04, on the diagonal.
Eigen::MatrixXd Covariance(std::span<const OpFeatures> ops, double length);

/// What is predicted for the ops `left_out` from the others, without solving for these.
/// @param inverse   [n, n] of Covariance(), of all ops
/// @param residual  [n] log(measured / fit)
/// @param left_out  ascending, fewer than n
/// @return log factors in the order of `left_out`, as Neighbours made of the others gives them
std::vector<double> PredictLeftOut(const Eigen::MatrixXd& inverse,
                                   const Eigen::VectorXd& residual,
                                   std::span<const int> left_out);

class Neighbours {
 public:
  /// @param ops       [n], of one kind; none: no op is corrected
  /// @param residual  [n] log(measured / fit)
  Neighbours(std::vector<OpFeatures> ops, const Eigen::VectorXd& residual, double length);

  /// The log of the factor for an op of the kind; between the least and the greatest residual
  /// and 0.
  double LogFactor(const OpFeatures& op) const;

 private:
  std::vector<OpFeatures> ops_;
  Eigen::VectorXd weights_;  // [n]
  double length_, least_ = 0, most_ = 0;
};

}  // namespace emplace
