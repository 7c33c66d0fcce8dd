#include "framework/learn/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "framework/config/setting_error.h"

namespace emplace {
namespace {

using Values = Eigen::Map<Eigen::ArrayXf>;

// Block size for which value, gradient and moments stay in the first-level cache during an update.
constexpr Eigen::Index kUpdateBlock = 1024;

template <class Update>
void ForBlocks(Eigen::Index size, const Update& update) {
  for (Eigen::Index begin = 0; begin < size; begin += kUpdateBlock) {
    const Eigen::Index count = std::min(kUpdateBlock, size - begin);
    update([&](Matrix& matrix) { return Values(matrix.data() + begin, count); });
  }
}

int MomentsPerParameter(const OptimizerConfig& config) {
  if (config.method == "adam") return 2;
  return config.method == "rmsprop" || config.momentum > 0 ? 1 : 0;
}

}  // namespace

void ScheduleConfig::Visit(FieldVisitor& v) {
  v.Field("learning_rate", learning_rate, Between(0, 1e6), "initial step size");
  v.Field("decay_rate",
          decay_rate,
          Between(0, 1),
          "factor of the step size after every decay_every updates");
  v.Field("decay_every", decay_every, Between(1, 1e9), "updates between two decays");
  v.Field("decay_start", decay_start, Between(0, 1e9), "updates before the decay starts");
  v.Field("anneal_to",
          anneal_to,
          Between(0, 1),
          "share of the step size that is reached linearly after anneal_updates; none: the decay "
          "applies instead");
  v.Field("anneal_updates",
          anneal_updates,
          Between(0, 1e9),
          "number of updates of the linear schedule");
}

double LearningRateAt(const ScheduleConfig& schedule, std::int64_t update) {
  if (schedule.anneal_to) {
    const double share = std::min(1.0, static_cast<double>(update) / schedule.anneal_updates);
    return schedule.learning_rate * (1 + (*schedule.anneal_to - 1) * share);
  }
  const std::int64_t decays =
      std::max<std::int64_t>(0, update - schedule.decay_start) / schedule.decay_every;
  return schedule.learning_rate * std::pow(schedule.decay_rate, static_cast<double>(decays));
}

void OptimizerConfig::Visit(FieldVisitor& v) {
  v.Field("method", method, "adam, rmsprop or sgd");
  schedule.Visit(v);
  v.Field("momentum", momentum, Between(0, 0.999999), "momentum of sgd");
  v.Field("beta1", beta1, Between(0, 0.999999), "decay of the mean gradient of adam");
  v.Field("beta2",
          beta2,
          Between(0, 0.999999),
          "decay of the mean squared gradient of adam and rmsprop");
  v.Field("epsilon", epsilon, Between(1e-12, 1), "smallest divisor of adam and rmsprop");
  v.Field("clip_norm",
          clip_norm,
          Between(0, 1e6),
          "largest norm of all gradients together; 0: no clipping");
}

void OptimizerConfig::Validate(const std::string& key) const {
  const std::array<std::string, 3> methods = {"adam", "rmsprop", "sgd"};
  if (std::find(methods.begin(), methods.end(), method) == methods.end()) {
    throw SettingError(
        key + ".method",
        fmt::format("unknown method \"{}\"{}", method, ChoicesHint(method, methods)));
  }
  if (schedule.anneal_updates == 0) {
    throw SettingError(key + ".anneal_updates", "expected at least 1, got 0");
  }
}

Optimizer::Optimizer(const OptimizerConfig& config,
                     ParameterSet& parameters,
                     const std::string& key)
    : config_(config), parameters_(parameters) {
  config.Validate(key);
  for (const Parameter& parameter : parameters_.all()) {
    for (int i = 0; i < MomentsPerParameter(config_); ++i) {
      moments_.push_back(Matrix::Zero(parameter.value.rows(), parameter.value.cols()));
    }
  }
}

void Optimizer::Reset() {
  for (Matrix& moment : moments_) moment.setZero();
  updates_ = 0;
}

Optimizer::StepInfo Optimizer::Step() {
  const double rate = rate_factor_ * LearningRateAt(config_.schedule, updates_);
  const double norm = parameters_.GradientNorm();
  if (!std::isfinite(norm)) return {rate, norm};
  ++updates_;

  const bool clips = config_.clip_norm > 0 && norm > config_.clip_norm;
  const auto clip = static_cast<float>(clips ? config_.clip_norm / norm : 1);
  const auto lr = static_cast<float>(rate);
  const auto b1 = static_cast<float>(config_.beta1), b2 = static_cast<float>(config_.beta2);
  const auto epsilon = static_cast<float>(config_.epsilon);
  const auto t = static_cast<double>(updates_);
  const auto adam_lr = static_cast<float>(rate / (1 - std::pow(config_.beta1, t)));
  const auto v_scale = static_cast<float>(1 / (1 - std::pow(config_.beta2, t)));
  const auto momentum = static_cast<float>(config_.momentum);

  auto moment = moments_.begin();
  for (Parameter& parameter : parameters_.all()) {
    const Eigen::Index size = parameter.value.size();
    if (config_.method == "adam") {
      Matrix &first = moment[0], &second = moment[1];
      ForBlocks(size, [&](const auto& block) {
        Values w = block(parameter.value), g = block(parameter.gradient);
        Values m = block(first), v = block(second);
        g *= clip;
        m = b1 * m + (1 - b1) * g;
        v = b2 * v + (1 - b2) * g.square();
        w -= adam_lr * m / ((v_scale * v).sqrt() + epsilon);
      });
    } else if (config_.method == "rmsprop") {
      ForBlocks(size, [&](const auto& block) {
        Values w = block(parameter.value), g = block(parameter.gradient), v = block(moment[0]);
        g *= clip;
        v = b2 * v + (1 - b2) * g.square();
        w -= lr * g / (v.sqrt() + epsilon);
      });
    } else if (config_.momentum > 0) {
      ForBlocks(size, [&](const auto& block) {
        Values w = block(parameter.value), v = block(moment[0]);
        v = momentum * v + clip * block(parameter.gradient);
        w -= lr * v;
      });
    } else {
      parameter.value -= (lr * clip) * parameter.gradient;
    }
    moment += MomentsPerParameter(config_);
  }
  parameters_.ClearGradients();
  return {rate, norm};
}

}  // namespace emplace
