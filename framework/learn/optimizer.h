#pragma once

// Gradient descent: the settings, and one step of each method.
//
//   sgd      w -= lr g                                     with momentum m: v = m v + g, w -= lr v
//   adam     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
//            w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)   (Kingma and Ba 2015)
//   rmsprop  v = b2 v + (1 - b2) g^2,  w -= lr g / (sqrt(v) + epsilon)  (Tieleman, Hinton 2012)

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/learn/parameter.h"

namespace emplace {

/// lr(u) = learning_rate * decay_rate ^ floor(max(0, u - decay_start) / decay_every) at update u,
/// counted from 0. With `anneal_to`, the rate instead changes linearly to that share of
/// learning_rate over `anneal_updates` updates.
struct ScheduleConfig {
  double learning_rate = 1e-3;
  double decay_rate = 1;
  int decay_every = 50;
  int decay_start = 0;
  std::optional<double> anneal_to;
  int anneal_updates = 1000;
  /// Visits the fields, which belong to the optimizer's map and have no map of their own.
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
  double clip_norm = 1;   ///< largest norm of all gradients together; 0: no limit
  void Visit(FieldVisitor& v);
  /// @param key  of these settings within the settings of the owner, for messages: "optimizer"
  /// @throws SettingError for an unknown method, or for anneal_updates: 0
  void Validate(const std::string& key) const;
};

class Optimizer {
 public:
  /// @param parameters  must outlive this; no parameters may be added later
  /// @throws SettingError as OptimizerConfig::Validate()
  Optimizer(const OptimizerConfig& config, ParameterSet& parameters, const std::string& key);

  struct StepInfo {
    double learning_rate = 0, gradient_norm = 0;  ///< norm before clipping
  };
  /// Clips the gradients, updates the parameters and clears the gradients. If the norm is not
  /// finite, changes nothing: neither the gradients nor the number of updates.
  StepInfo Step();
  /// Sets a factor for the rate of all further steps, for other schedules than ScheduleConfig.
  void set_rate_factor(double factor) { rate_factor_ = factor; }
  /// Resets the moments and the number of updates.
  void Reset();
  std::int64_t updates() const { return updates_; }
  const std::string& method() const { return config_.method; }

  /// Returns the moments in the order of the parameters. With updates() they are the whole state.
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
