#pragma once

// Robust non-linear least squares for few parameters: the method of Levenberg and Marquardt on
// Huber's loss (Huber 1964), with a lower limit for every parameter and a limit on every step.
//
// Ceres Solver does the same and more. For the six parameters of a roofline it is not worth its
// eight further packages (55 MB: ATLAS, glog, gflags, ... in addition to SuiteSparse), whose
// libraries every start of the program would load. The part needed here is Eigen's LDLT and a loop.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/Dense>

namespace emplace {

struct LeastSquaresOptions {
  double huber_width = 1;  ///< larger errors count linearly, against outliers
  double floor = -1e9;     ///< least value of a parameter
  double max_step = 1e9;   ///< largest change of a parameter in one step
  int max_steps = 100;
};

/// Huber's loss: x^2 / 2 up to |x| = width, width (|x| - width / 2) beyond.
inline double HuberLoss(double x, double width) {
  const double size = std::abs(x);
  return size <= width ? 0.5 * x * x : width * (size - 0.5 * width);
}

/// Descends from `at` to a local minimum of the sum of HuberLoss(errors[i]). Stops when a step
/// reduces the sum by less than 1e-10 of it. Deterministic. Parameters on which no error depends
/// are not changed.
/// @param evaluate    (parameters, errors, gradients): fills errors[i] and, unless `gradients` is
///   null, (*gradients)[i], the derivative of error i by each parameter
/// @param num_errors  number of errors
/// @param at          in: start; out: the minimum
/// @return the loss there, never above that of the start
template <int N, class Evaluate>
double MinimizeHuber(const Evaluate& evaluate,
                     std::size_t num_errors,
                     const LeastSquaresOptions& options,
                     Eigen::Matrix<double, N, 1>& at) {
  using Parameters = Eigen::Matrix<double, N, 1>;
  constexpr double kLeastDamping = 1e-9, kMostDamping = 1e9, kLeastGain = 1e-10;
  std::vector<double> errors(num_errors);
  std::vector<Parameters> gradients(num_errors);
  const auto loss_at = [&](const Parameters& parameters) {
    evaluate(parameters, errors, nullptr);
    double loss = 0;
    for (const double error : errors) loss += HuberLoss(error, options.huber_width);
    return loss;
  };
  double loss = loss_at(at), damping = 1e-3;
  for (int i = 0; i < options.max_steps && damping < kMostDamping; ++i) {
    // Solves one reweighted Gauss-Newton system: hessian * step = -gradient.
    evaluate(at, errors, &gradients);
    Eigen::Matrix<double, N, N> hessian = Eigen::Matrix<double, N, N>::Zero();
    Parameters gradient = Parameters::Zero();
    for (std::size_t e = 0; e < num_errors; ++e) {
      const double weight =
          std::min(1.0, options.huber_width / std::max(std::abs(errors[e]), 1e-300));
      hessian.noalias() += weight * gradients[e] * gradients[e].transpose();
      gradient += weight * errors[e] * gradients[e];
    }
    for (; damping < kMostDamping; damping *= 10) {
      Eigen::Matrix<double, N, N> damped = hessian;
      damped.diagonal() += damping * (hessian.diagonal().array() + 1e-6).matrix();
      const Parameters step =
          (-damped.ldlt().solve(gradient)).cwiseMax(-options.max_step).cwiseMin(options.max_step);
      const Parameters next = (at + step).cwiseMax(options.floor);
      const double next_loss = loss_at(next);
      if (!(next_loss < loss)) continue;
      const double gain = loss - next_loss;
      at = next;
      loss = next_loss;
      damping = std::max(damping / 10, kLeastDamping);
      if (gain < kLeastGain * loss) return loss;
      break;
    }
  }
  return loss;
}

}  // namespace emplace
