#pragma once

// Corrects the fit of a cost table for an op by its errors on measured ops of the same kind, since
// errors of similar ops are alike. The model is a Gaussian process over the logs of measured times
// (Rasmussen and Williams 2006, section 2.2) whose mean is the fit, with the covariance
//
//   k(u, v) = (exp(-d(u, v) / 3) + [one structure] exp(-e(u, v) / length)) / 2
//
// where d is the distance of (log(1 + F), log(1 + B)), and e that of the numbers in the signatures
// (signature_features.h). Far from all measured ops the correction vanishes, and the fit alone
// counts. No correction exceeds the largest error of the fit on a measured op of the kind.

#include <span>
#include <vector>

#include <Eigen/Dense>

#include "framework/cost/signature_features.h"

namespace emplace {

/// The features of an op by which neighbours are compared.
struct OpFeatures {
  double log_flops = 0, log_bytes = 0;  ///< log(1 + F), log(1 + B)
  SignatureFeatures signature;
};
OpFeatures MakeOpFeatures(std::string_view signature, double flops, double bytes);

/// Returns k(u, v) of two ops of one kind. @param length  > 0   @return in [0, 1]
double Nearness(const OpFeatures& u, const OpFeatures& v, double length);

/// Returns [n, n] k of ops of one kind, with the variance of a measurement, 0.04, on the diagonal.
Eigen::MatrixXd Covariance(std::span<const OpFeatures> ops, double length);

/// Predicts the ops `left_out` from the others, without solving a system for each set of others.
/// @param inverse   [n, n] of Covariance(), of all ops
/// @param residual  [n] log(measured / fit)
/// @param left_out  ascending, fewer than n
/// @return log factors in the order of `left_out`, equal to those of Neighbours made of the others
std::vector<double> PredictLeftOut(const Eigen::MatrixXd& inverse,
                                   const Eigen::VectorXd& residual,
                                   std::span<const int> left_out);

class Neighbours {
 public:
  /// @param ops       [n], of one kind; empty: no op is corrected
  /// @param residual  [n] log(measured / fit)
  Neighbours(std::vector<OpFeatures> ops, const Eigen::VectorXd& residual, double length);

  /// Returns the log of the correction factor for an op, in the range of the residuals and 0.
  double LogFactor(const OpFeatures& op) const;

 private:
  std::vector<OpFeatures> ops_;
  Eigen::VectorXd weights_;  // [n]
  double length_, least_ = 0, most_ = 0;
};

}  // namespace emplace
