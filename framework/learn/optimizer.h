#pragma once

// Gradient descent: what a config says, and one step of it.
//
//   sgd      w -= lr g                                     with momentum m: v = m v + g, w -= lr v
//   adam     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
//            w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)   (Kingma and Ba 2015)
//   rmsprop  v = b2 v + (1 - b2) g^2,  w -= lr g / (sqrt(v) + epsilon)  (Tieleman, Hinton 2012)

#include <cstdint>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/learn/parameter.h"

namespace emplace {

/// lr(u) = learning_rate * decay_rate ^ floor(max(0, u - decay_start) / decay_every) at update u
/// from 0; with `anneal_to` >= 0 linearly to that share of it over `anneal_updates` instead.
struct ScheduleConfig {
  double learning_rate = 1e-3;
  double decay_rate = 1;
  int decay_every = 50;
  int decay_start = 0;
  double anneal_to = -1;
  int anneal_updates = 1000;
  /// Visits its fields; they stand among the optimizer's own, not in a map of their own.
  void Visit(FieldVisitor& v);
};
double LearningRateAt(const ScheduleConfig& schedule, std::int64_t update);

struct OptimizerConfig {
  std::string method = "adam";
  ScheduleConfig schedule;
  double momentum = 0;    ///< sgd
  double beta1 = 0.9;     ///< adam
  double beta2 = 0.999;   ///< adam, rmsprop
  double epsilon = 1e-8;  ///< adam, rmsprop
  double clip_norm = 1;   ///< largest norm of all gradients together; 0: not clipped
  void Visit(FieldVisitor& v);
};

class Optimizer {
 public:
  /// @param parameters  outlives this; none may be added later
  /// @param key  of the settings within the owner's, for messages: "optimizer"
  /// @throws SettingError for an unknown method, or anneal_updates: 0
  Optimizer(const OptimizerConfig& config, ParameterSet& parameters, const std::string& key);

  struct StepInfo {
    double learning_rate = 0, gradient_norm = 0;  ///< norm before clipping
  };
  /// Clips, steps and clears the gradients. If the norm is not finite nothing is changed, the
  /// gradients and the number of updates neither.
  StepInfo Step();
  /// Multiplies the rate of all further steps, for a schedule that depends on more than updates.
  void set_rate_factor(double factor) { rate_factor_ = factor; }
  /// Forgets moments and updates.
  void Reset();
  std::int64_t updates() const { return updates_; }
  const std::string& method() const { return config_.method; }

  /// Moments, in the order of the parameters; with `updates` all there is to save.
  std::vector<Matrix>& moments() { return moments_; }
  const std::vector<Matrix>& moments() const { return moments_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

 private:
  OptimizerConfig config_;
  ParameterSet& parameters_;
  // adam: m and v of each parameter; rmsprop: v; sgd: v with momentum
  std::vector<Matrix> moments_;
  std::int64_t updates_ = 0;
  double rate_factor_ = 1;
};

}  // namespace emplace
