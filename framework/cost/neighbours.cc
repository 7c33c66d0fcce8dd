#include "framework/cost/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace emplace {
namespace {

constexpr double kWorkLength = 3;              // length scale of log FLOPs and log bytes
constexpr double kMeasurementVariance = 0.04;  // relative to that of the fit's errors

// The range of corrections: that of the residuals, and 0.
struct ResidualRange {
  double least = 0, most = 0;
  void Add(double residual) {
    least = std::min(least, residual);
    most = std::max(most, residual);
  }
  double Clamp(double value) const { return std::clamp(value, least, most); }
};

}  // namespace

OpFeatures MakeOpFeatures(std::string_view signature, double flops, double bytes) {
  return {std::log1p(flops), std::log1p(bytes), MakeSignatureFeatures(signature)};
}

double Nearness(const OpFeatures& u, const OpFeatures& v, double length) {
  const double work = std::hypot(u.log_flops - v.log_flops, u.log_bytes - v.log_bytes);
  double nearness = 0.5 * std::exp(-work / kWorkLength);
  if (u.signature.structure == v.signature.structure) {
    double squares = 0;
    for (std::size_t i = 0; i < u.signature.numbers.size(); ++i) {
      const double difference = u.signature.numbers[i] - v.signature.numbers[i];
      squares += difference * difference;
    }
    nearness += 0.5 * std::exp(-std::sqrt(squares) / length);
  }
  return nearness;
}

Eigen::MatrixXd Covariance(std::span<const OpFeatures> ops, double length) {
  const auto n = static_cast<Eigen::Index>(ops.size());
  Eigen::MatrixXd covariance(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    covariance(i, i) = 1 + kMeasurementVariance;
    for (Eigen::Index j = 0; j < i; ++j) {
      covariance(i, j) = covariance(j, i) = Nearness(ops[i], ops[j], length);
    }
  }
  return covariance;
}

std::vector<double> PredictLeftOut(const Eigen::MatrixXd& inverse,
                                   const Eigen::VectorXd& residual,
                                   std::span<const int> left_out) {
  // With A = inverse(S, S) for the set S left out, the others predict r_S - A^-1 (inverse r)_S
  // (Rasmussen and Williams 2006, section 5.4.2, for more than one).
  const auto count = static_cast<Eigen::Index>(left_out.size());
  Eigen::MatrixXd block(count, count);
  Eigen::VectorXd product(count);
  ResidualRange range;
  std::size_t next = 0;
  for (Eigen::Index i = 0; i < residual.size(); ++i) {
    const bool is_out = next < left_out.size() && left_out[next] == i;
    is_out ? void(++next) : range.Add(residual[i]);
  }
  for (Eigen::Index i = 0; i < count; ++i) {
    product[i] = inverse.col(left_out[i]).dot(residual);
    for (Eigen::Index j = 0; j < count; ++j) block(i, j) = inverse(left_out[i], left_out[j]);
  }
  const Eigen::VectorXd missed = block.ldlt().solve(product);
  std::vector<double> predicted;
  for (Eigen::Index i = 0; i < count; ++i) {
    predicted.push_back(range.Clamp(residual[left_out[i]] - missed[i]));
  }
  return predicted;
}

Neighbours::Neighbours(std::vector<OpFeatures> ops, const Eigen::VectorXd& residual, double length)
    : ops_(std::move(ops)), length_(length) {
  if (ops_.empty()) return;
  weights_ = Covariance(ops_, length_).ldlt().solve(residual);
  ResidualRange range;
  for (const double one : residual) range.Add(one);
  least_ = range.least;
  most_ = range.most;
}

double Neighbours::LogFactor(const OpFeatures& op) const {
  double factor = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    factor += weights_[static_cast<Eigen::Index>(i)] * Nearness(op, ops_[i], length_);
  }
  return std::clamp(factor, least_, most_);
}

}  // namespace emplace
