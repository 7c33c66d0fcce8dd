#include "framework/learn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"

namespace {

using namespace emplace;

// The formulas of the header again, in double precision and entry by entry.
struct PlainOptimizer {
  OptimizerConfig config;
  std::vector<double> m, v;
  int t = 0;

  void Step(std::vector<double>& w, std::vector<double> g) {
    if (m.empty()) m.resize(w.size()), v.resize(w.size());
    const double lr = LearningRateAt(config.schedule, t++);
    double norm = 0;
    for (double x : g) norm += x * x;
    norm = std::sqrt(norm);
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (config.clip_norm > 0 && norm > config.clip_norm) g[i] *= config.clip_norm / norm;
      const double squared = config.beta2 * v[i] + (1 - config.beta2) * g[i] * g[i];
      if (config.method == "adam") {
        m[i] = config.beta1 * m[i] + (1 - config.beta1) * g[i];
        v[i] = squared;
        const double m_hat = m[i] / (1 - std::pow(config.beta1, t));
        const double v_hat = v[i] / (1 - std::pow(config.beta2, t));
        w[i] -= lr * m_hat / (std::sqrt(v_hat) + config.epsilon);
      } else if (config.method == "rmsprop") {
        v[i] = squared;
        w[i] -= lr * g[i] / (std::sqrt(v[i]) + config.epsilon);
      } else {
        v[i] = config.momentum * v[i] + g[i];
        w[i] -= lr * v[i];
      }
    }
  }
};

std::string OptimizerRefusal(const OptimizerConfig& config) {
  ParameterSet parameters;
  try {
    Optimizer(config, parameters, "optimizer");
  } catch (const SettingError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("schedules: steps down, or a straight line") {
  ScheduleConfig schedule{
      .learning_rate = 8, .decay_rate = 0.5, .decay_every = 10, .decay_start = 5};
  // 8 until update 14 = 5 + 10 - 1, then half of it every ten updates.
  CHECK(LearningRateAt(schedule, 0) == 8);
  CHECK(LearningRateAt(schedule, 14) == 8);
  CHECK(LearningRateAt(schedule, 15) == 4);
  CHECK(LearningRateAt(schedule, 24) == 4);
  CHECK(LearningRateAt(schedule, 35) == 1);
  schedule.anneal_to = 0.25;
  schedule.anneal_updates = 4;
  // 8 -> 2 in four updates.
  CHECK(LearningRateAt(schedule, 0) == 8);
  CHECK(LearningRateAt(schedule, 1) == 6.5);
  CHECK(LearningRateAt(schedule, 4) == 2);
  CHECK(LearningRateAt(schedule, 1'000'000'000'000) == 2);
}

TEST_CASE("steps: as in plain double precision") {
  Rng rng(5);
  for (int round = 0; round < 60; ++round) {
    OptimizerConfig config;
    config.method = std::vector<std::string>{"adam", "rmsprop", "sgd"}[round % 3];
    config.momentum = round % 2 == 0 ? 0 : 0.8;
    config.beta1 = 0.5 + 0.4 * Uniform01(rng);
    config.beta2 = 0.5 + 0.49 * Uniform01(rng);
    config.epsilon = 1e-4;
    config.clip_norm = round % 4 == 0 ? 0 : Uniform01(rng) + 0.1;
    config.schedule = {.learning_rate = 0.01, .decay_rate = 0.7, .decay_every = 2};

    ParameterSet parameters;
    // Shapes around the blocks in which steps are taken, and an empty one.
    parameters.AddUniform("a", 1 + UniformInt(rng, 40), 1 + UniformInt(rng, 60), 1, rng);
    parameters.Add("empty", 0, 3);
    parameters.AddUniform("b", 1, 1 + UniformInt(rng, 5), 1, rng);
    Optimizer optimizer(config, parameters, "optimizer");
    PlainOptimizer plain{config};
    std::vector<double> w;
    for (const Parameter& p : parameters.all()) {
      for (float value : p.value.reshaped<Eigen::RowMajor>()) w.push_back(value);
    }
    for (int step = 0; step < 6; ++step) {
      std::vector<double> g;
      double squares = 0;
      for (Parameter& p : parameters.all()) {
        for (float& gradient : p.gradient.reshaped<Eigen::RowMajor>()) {
          gradient = static_cast<float>(2 * Uniform01(rng) - 1);
          g.push_back(gradient);
          squares += g.back() * g.back();
        }
      }
      plain.Step(w, g);
      const Optimizer::StepInfo info = optimizer.Step();
      CHECK(info.gradient_norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-9));
      CHECK(info.learning_rate == doctest::Approx(0.01 * std::pow(0.7, step / 2)));
      CHECK(parameters.GradientNorm() == 0);
      double worst = 0;
      std::size_t i = 0;
      for (const Parameter& p : parameters.all()) {
        for (float value : p.value.reshaped<Eigen::RowMajor>()) {
          worst = std::max(worst, std::abs(value - w[i++]));
        }
      }
      CHECK(worst < 2e-6);
    }
    CHECK(optimizer.updates() == 6);
  }
}

TEST_CASE("clipping: the norm of all gradients together") {
  ParameterSet parameters;
  Parameter& a = parameters.Add("a", 1, 1);
  Parameter& b = parameters.Add("b", 2, 1);
  OptimizerConfig config{.method = "sgd", .schedule = {.learning_rate = 1}, .clip_norm = 0.5};
  Optimizer optimizer(config, parameters, "optimizer");
  a.gradient << 3;
  b.gradient << 0, 4;
  // Norm 5: a tenth of each.
  CHECK(optimizer.Step().gradient_norm == 5);
  CHECK(a.value(0, 0) == doctest::Approx(-0.3));
  CHECK(b.value(1, 0) == doctest::Approx(-0.4));
}

TEST_CASE("a gradient that is not finite changes nothing") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    ParameterSet parameters;
    Parameter& w = parameters.Add("w", 2, 2);
    w.value.setOnes();
    Optimizer optimizer({}, parameters, "optimizer");
    w.gradient(1, 0) = bad;
    CHECK_FALSE(std::isfinite(optimizer.Step().gradient_norm));
    CHECK(optimizer.updates() == 0);
    CHECK(w.value == Matrix::Ones(2, 2));
    CHECK(optimizer.moments()[0].isZero());
    CHECK_FALSE(std::isfinite(w.gradient(1, 0)));  // still there, for the message
  }
}

TEST_CASE("settings: read, written and refused by name") {
  const auto help = DescribeFields<OptimizerConfig>();
  CHECK(help.size() == 12);
  CHECK(help[0].key == "method");
  CHECK(help[1].key == "learning_rate");

  CHECK(OptimizerRefusal({}) == "");
  CHECK(OptimizerRefusal({.method = "adan"}) ==
        "optimizer.method: unknown method \"adan\"; did you mean \"adam\"? choices: adam, rmsprop, "
        "sgd");
  CHECK(OptimizerRefusal({.schedule = {.anneal_updates = 0}}) ==
        "optimizer.anneal_updates: expected at least 1, got 0");
}

}  // namespace
