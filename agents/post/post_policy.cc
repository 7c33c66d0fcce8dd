#include "agents/post/post_policy.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/shared/devices.h"
#include "framework/base/error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr double kLeast = 1e-8;

}  // namespace

PostPolicy::PostPolicy(const Problem& problem, ParameterSet& parameters, double sharing)
    : logits_(parameters.Add("logits", NumChoices(problem), problem.num_devices())) {
  allowed_ = logits_.value;
  for (int group = 0; group < problem.num_groups(); ++group) {
    const std::uint64_t mask = problem.allowed_devices(group);
    only_.device.push_back(static_cast<DeviceIndex>(FirstDevice(mask)));
    if (std::has_single_bit(mask)) continue;
    for (int d = 0; d < problem.num_devices(); ++d) {
      allowed_(num_decisions(), d) = problem.allowed(group, d) ? 1 : 0;
    }
    group_.push_back(group);
  }
  if (sharing > 0) sharing_.emplace(problem, group_, sharing);
}

void PostPolicy::SetSharing(double strength) {
  if (strength == sharing_->strength()) return;
  Tape tape;
  const Matrix logits = tape.value(Logits(tape));
  sharing_->SetStrength(strength);
  logits_.value = sharing_->Unshare(logits);
}

Var PostPolicy::Logits(Tape& tape) const {
  const Var own = tape.Use(logits_);
  return sharing_ ? sharing_->Share(tape, own) : own;
}

std::vector<int> PostPolicy::DevicesOf(const Placement& placement) const {
  std::vector<int> devices;
  devices.reserve(group_.size());
  for (int group : group_) devices.push_back(placement.device[group]);
  return devices;
}

Var PostPolicy::LogProbabilities(Tape& tape) const {
  return LogSoftmax(tape, Logits(tape), &allowed_);
}

std::vector<Placement> PostPolicy::Sample(const Matrix& log_probabilities,
                                          int count,
                                          Rng& rng) const {
  std::vector<Placement> placements(count, only_);
  const std::vector<std::vector<int>> devices = SampleRows(log_probabilities, count, rng);
  for (int i = 0; i < count; ++i) {
    for (int m = 0; m < num_decisions(); ++m) {
      placements[i].device[group_[m]] = static_cast<DeviceIndex>(devices[i][m]);
    }
  }
  return placements;
}

Placement PostPolicy::Mode(const Matrix& log_probabilities) const {
  Placement placement = only_;
  for (int m = 0; m < num_decisions(); ++m) {
    Eigen::Index device = 0;
    log_probabilities.row(m).maxCoeff(&device);
    placement.device[group_[m]] = static_cast<DeviceIndex>(device);
  }
  return placement;
}

Var PostPolicy::LogProbability(Tape& tape,
                               Var log_probabilities,
                               std::span<const Placement> placements) const {
  std::vector<Var> columns;
  for (const Placement& placement : placements) {
    columns.push_back(Pick(tape, log_probabilities, DevicesOf(placement)));
  }
  return ConcatCols(tape, columns);
}

double PostPolicy::MeanEntropy() const {
  Tape tape;
  return tape.value(MeanAll(tape, Entropy(tape, LogProbabilities(tape))))(0, 0);
}

void PostPolicy::MinimizeCrossEntropy(std::span<const Placement* const> elites,
                                      double epsilon,
                                      double step) {
  EMPLACE_CHECK(!elites.empty());
  Tape tape;
  const Matrix old = tape.value(LogProbabilities(tape));
  Matrix count = Matrix::Zero(old.rows(), old.cols());
  for (const Placement* elite : elites) {
    for (int m = 0; m < num_decisions(); ++m) count(m, elite->device[group_[m]]) += 1;
  }
  Eigen::MatrixXd f = old.cast<double>().array().exp();
  f = (1 - step) * f + step / static_cast<double>(elites.size()) * count.cast<double>();
  for (int m = 0; m < num_decisions(); ++m) {
    const double uniform = 1.0 / allowed_.row(m).sum();
    f.row(m) = (1 - epsilon) * f.row(m).array() + epsilon * uniform;
  }
  SetProbabilities(f);
}

void PostPolicy::MakeNear(const Placement& placement, double probability) {
  Eigen::MatrixXd f(allowed_.rows(), allowed_.cols());
  for (int m = 0; m < num_decisions(); ++m) {
    f.row(m).setConstant((1 - probability) / (allowed_.row(m).sum() - 1));
    f(m, placement.device[group_[m]]) = probability;
  }
  SetProbabilities(f);
}

void PostPolicy::SetProbabilities(const Eigen::MatrixXd& f) {
  Tape tape;
  Matrix logits = tape.value(Logits(tape));
  for (int m = 0; m < num_decisions(); ++m) {
    for (int d = 0; d < logits.cols(); ++d) {
      if (allowed_(m, d) != 0)
        logits(m, d) = static_cast<float>(std::log(std::max(f(m, d), kLeast)));
    }
  }
  logits_.value = sharing_ ? sharing_->Unshare(logits) : logits;
}

}  // namespace emplace
