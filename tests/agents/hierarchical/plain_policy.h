#pragma once

// Grouper and placer once more, in plain loops and double precision, straight from the formulas of
// agents/hierarchical/grouper.h and placer.h: what the networks and their gradients are held
// against.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "agents/hierarchical/hierarchical_agent.h"

namespace emplace::testing {

class PlainPolicy {
 public:
  using Rows = std::vector<std::vector<double>>;

  PlainPolicy(const HierarchicalConfig& config,
              const Problem& problem,
              const ParameterSet& parameters)
      : config_(config), problem_(problem), units_(problem) {
    for (const Parameter& p : parameters.all()) {
      Rows& rows = parameters_[p.name];
      for (int r = 0; r < p.value.rows(); ++r) {
        rows.emplace_back(p.value.row(r).begin(), p.value.row(r).end());
      }
    }
  }

  /// To be changed for finite differences.
  double& value(const std::string& name, int row, int col) {
    return parameters_.at(name)[row][col];
  }

  struct Score {
    double grouping = 0, devices = 0, entropy = 0;  ///< log p(g), log p(d | g), placer's entropy
  };
  Score Of(const HierarchicalAgent::Decision& decision) const {
    Score score;
    const Rows logits = GrouperLogits();
    for (std::size_t unit = 0; unit < logits.size(); ++unit) {
      score.grouping += LogSoftmax(logits[unit])[decision.group_of_unit[unit]];
    }
    const GroupSequence groups = MakeGroupSequence(problem_,
                                                   units_,
                                                   decision.group_of_unit,
                                                   NumGroups(config_, problem_),
                                                   config_.placer.features,
                                                   config_.placer.by_position);
    Place(groups, decision.devices, score);
    return score;
  }

  Rows GrouperLogits() const {
    const Matrix input =
        GrouperInput(units_, config_.grouper.features, config_.grouper.standardize);
    const Matrix counts(units_.kind_counts);
    const Rows& types = parameters_.at("grouper.types");
    Rows logits;
    for (int unit = 0; unit < units_.num_units(); ++unit) {
      std::vector<double> x(types[0].size(), 0.0);
      for (std::size_t kind = 0; kind < types.size(); ++kind) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] += counts(unit, kind) / units_.num_ops[unit] * types[kind][i];
        }
      }
      x.insert(x.end(), input.row(unit).begin(), input.row(unit).end());
      std::vector<double> hidden = Linear("grouper.hidden", x);
      for (double& h : hidden) h = config_.grouper.gain * std::max(h, 0.0);
      logits.push_back(Linear("grouper.output", hidden));
    }
    return logits;
  }

  static std::vector<double> LogSoftmax(std::vector<double> logits) {
    double sum = 0;
    for (double l : logits) sum += std::exp(l);
    for (double& l : logits) l -= std::log(sum);
    return logits;
  }

 private:
  struct State {
    std::vector<double> hidden, cell;
  };

  static std::vector<double> Times(const std::vector<double>& x, const Rows& matrix) {
    std::vector<double> y(matrix[0].size(), 0.0);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * matrix[i][j];
    }
    return y;
  }
  static std::vector<double> Plus(std::vector<double> a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  static std::vector<double> Joined(std::vector<double> a, const std::vector<double>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  std::vector<double> Linear(const std::string& name, const std::vector<double>& x) const {
    return Plus(Times(x, parameters_.at(name + ".weights")), parameters_.at(name + ".bias")[0]);
  }
  State Step(const std::string& name, std::vector<double> gates, const State& state) const {
    gates = Plus(gates, Times(state.hidden, parameters_.at(name + ".recurrent")));
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const std::size_t width = state.hidden.size();
    State next = state;
    for (std::size_t i = 0; i < width; ++i) {
      next.cell[i] = sigmoid(gates[width + i]) * state.cell[i] +
                     sigmoid(gates[i]) * std::tanh(gates[2 * width + i]);
      next.hidden[i] = sigmoid(gates[3 * width + i]) * std::tanh(next.cell[i]);
    }
    return next;
  }

  void Place(const GroupSequence& groups, const std::vector<int>& devices, Score& score) const {
    const int steps = static_cast<int>(groups.input.rows()), num_devices = problem_.num_devices();
    const std::size_t width = config_.placer.hidden;
    const State zero{std::vector<double>(width / 2, 0.0), std::vector<double>(width / 2, 0.0)};
    std::vector<State> forward(steps), backward(steps);
    for (int i = 0; i < steps; ++i) {
      const std::vector<double> x(groups.input.row(i).begin(), groups.input.row(i).end());
      forward[i] =
          Step("placer.forward", Linear("placer.forward", x), i == 0 ? zero : forward[i - 1]);
    }
    for (int i = steps - 1; i >= 0; --i) {
      const std::vector<double> x(groups.input.row(i).begin(), groups.input.row(i).end());
      backward[i] = Step(
          "placer.backward", Linear("placer.backward", x), i == steps - 1 ? zero : backward[i + 1]);
    }
    State state{Joined(forward[steps - 1].hidden, backward[0].hidden),
                Joined(forward[steps - 1].cell, backward[0].cell)};
    Rows states, keys;
    for (int i = 0; i < steps; ++i) {
      states.push_back(Joined(forward[i].hidden, backward[i].hidden));
      keys.push_back(Linear("placer.keys", states[i]));
    }
    const std::vector<double>& v = parameters_.at("placer.attention")[0];
    for (int t = 0; t < steps; ++t) {
      const int before = t == 0 ? num_devices : devices[t - 1];
      std::vector<double> gates =
          Linear("placer.decoder", parameters_.at("placer.devices")[before]);
      if (config_.placer.aligned) {
        gates = Plus(gates, Times(states[t], parameters_.at("placer.aligned")));
      }
      state = Step("placer.decoder", gates, state);
      const std::vector<double> query = Linear("placer.query", state.hidden);
      std::vector<double> weights(steps, 0.0), context(width, 0.0);
      for (int s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < width; ++i)
          weights[s] += v[i] * std::tanh(query[i] + keys[s][i]);
      }
      weights = LogSoftmax(weights);
      for (int s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < width; ++i) context[i] += std::exp(weights[s]) * states[s][i];
      }
      std::vector<double> logits = Linear("placer.output", Joined(state.hidden, context));
      for (int d = 0; d < num_devices; ++d) {
        logits[d] =
            config_.placer.tanh_constant * std::tanh(logits[d] / config_.placer.temperature);
        if (groups.allowed(t, d) == 0) logits[d] = -1e300;
      }
      const std::vector<double> log_softmax = LogSoftmax(logits);
      score.devices += log_softmax[devices[t]];
      for (double l : log_softmax) score.entropy -= l < -1e200 ? 0 : std::exp(l) * l;
    }
  }

  HierarchicalConfig config_;
  const Problem& problem_;
  UnitFeatures units_;
  std::map<std::string, Rows> parameters_;
};

}  // namespace emplace::testing
