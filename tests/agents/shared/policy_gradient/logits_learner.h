#pragma once

// The smallest policy there is, and a world for it: what tests of PolicyGradient update.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/shared/policy_gradient/policy_gradient.h"
#include "framework/learn/ops.h"
#include "tests/support/problems.h"

namespace emplace::testing {

inline constexpr int kGroups = 3, kDevices = 2;

inline std::shared_ptr<const Problem> UngroupedProblem() {
  ProblemBuilder builder = Gpus(kDevices);
  for (int g = 0; g < kGroups; ++g) builder.Op("op" + std::to_string(g), {1'000'000}, {}, 10);
  return builder.Build();
}

/// Step time in seconds: 1 plus the sum of the devices. A placement that begins with
/// `infeasible_device` does not fit.
class CountingEvaluator final : public Evaluator {
 public:
  CountingEvaluator(std::shared_ptr<const Problem> problem, int infeasible_device)
      : problem_(std::move(problem)), infeasible_device_(infeasible_device) {}
  const Problem& problem() const override { return *problem_; }
  using Evaluator::Evaluate;
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail&) override {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      int sum = 1;
      for (DeviceIndex device : placements[i].device) sum += device;
      outcomes[i] = {};
      outcomes[i].step_time = sum * Nanos{1'000'000'000};
      outcomes[i].devices.resize(kDevices);
      outcomes[i].feasible = placements[i].device[0] != infeasible_device_;
      if (!outcomes[i].feasible) outcomes[i].devices[0].deficit = 1;
    }
  }

 private:
  std::shared_ptr<const Problem> problem_;
  int infeasible_device_;
};

/// A policy with a row of logits per group, independent of each other, and its learning.
struct Learner {
  explicit Learner(const PolicyGradientConfig& config, int infeasible_device = -1)
      : problem(UngroupedProblem()), evaluator(problem, infeasible_device) {
    parameters.Add("logits", kGroups, kDevices).value << 0.5F, -0.25F, 1, 0.75F, -1, 0.25F;
    learning.emplace(config, problem, parameters);
  }
  Matrix& logits() { return parameters.all()[0].value; }

  // [1, 1] of one placement
  Var LogProbability(const Placement& placement) {
    const Var log_softmax = LogSoftmax(tape, tape.Use(parameters.all()[0]));
    const std::vector<int> devices(placement.device.begin(), placement.device.end());
    return SumAll(tape, Pick(tape, log_softmax, devices));
  }
  PolicyGradient::Sampled Score(const std::vector<Placement>& placements,
                                const Placement* best = nullptr) {
    std::vector<Var> rows;
    for (const Placement& placement : placements) rows.push_back(LogProbability(placement));
    PolicyGradient::Sampled sampled;
    sampled.log_probability = ConcatRows(tape, rows);
    const Var all = LogSoftmax(tape, tape.Use(parameters.all()[0]));
    sampled.entropy = SumAll(tape, Entropy(tape, all));
    sampled.num_decisions = kGroups;
    if (best != nullptr) sampled.best_log_probability = LogProbability(*best);
    sampled.decisions.emplace();
    std::vector<Var> distributions;
    std::vector<int> devices;
    for (int i = 0; i < static_cast<int>(placements.size()); ++i) {
      distributions.push_back(all);
      for (DeviceIndex device : placements[i].device) {
        devices.push_back(device);
        sampled.decisions->sample.push_back(i);
      }
    }
    sampled.decisions->log_distribution = ConcatRows(tape, distributions);
    sampled.decisions->log_probability = Pick(tape, sampled.decisions->log_distribution, devices);
    return sampled;
  }
  void Update(const std::vector<Placement>& placements, Evaluator& with) {
    std::optional<Placement> best;
    if (learning->ToImitate() != nullptr) best = *learning->ToImitate();
    const auto score = [&](Tape&) { return Score(placements, best ? &*best : nullptr); };
    learning->Update(tape, score(tape), placements, with, score);
  }
  void Update(const std::vector<Placement>& placements) { Update(placements, evaluator); }

  double Column(const std::string& name) const {  // of the last row
    const UpdateTable& table = learning->table();
    const auto column = std::find(table.columns.begin(), table.columns.end(), name);
    REQUIRE(column != table.columns.end());
    return *(table.values.end() - (table.columns.end() - column));
  }

  std::shared_ptr<const Problem> problem;
  CountingEvaluator evaluator;
  ParameterSet parameters;
  std::optional<PolicyGradient> learning;
  Tape tape;
};

/// Softmax of each row.
inline std::vector<std::vector<double>> Probabilities(const Matrix& logits) {
  std::vector<std::vector<double>> p(kGroups, std::vector<double>(kDevices));
  for (int g = 0; g < kGroups; ++g) {
    double sum = 0;
    for (int d = 0; d < kDevices; ++d) sum += p[g][d] = std::exp(double{logits(g, d)});
    for (int d = 0; d < kDevices; ++d) p[g][d] /= sum;
  }
  return p;
}

/// Plain descent, nothing clipped, identity costs, no baseline.
inline PolicyGradientConfig Plain() {
  PolicyGradientConfig config;
  config.samples = 2;
  config.reward = {.transform = "identity", .failing_signal = 10};
  config.baseline.method = "none";
  config.optimizer.method = "sgd";
  config.optimizer.schedule.learning_rate = 0.5;
  config.optimizer.clip_norm = 0;
  return config;
}

inline const std::vector<Placement> kTwo = {{{0, 1, 0}}, {{1, 1, 1}}};  // 2 s and 4 s

}  // namespace emplace::testing
