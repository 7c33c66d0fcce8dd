#pragma once

// Grouper and placer once more, in plain loops and double precision, straight from the formulas of
// agents/hierarchical/grouper.h and placer.h: what the networks are held against.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "agents/hierarchical/hierarchical_agent.h"
#include "tests/support/plain_networks.h"

namespace emplace::testing::plain {

class PlainPolicy {
 public:
  PlainPolicy(const HierarchicalConfig& config,
              const Problem& problem,
              const ParameterSet& parameters)
      : config_(config),
        problem_(problem),
        units_(problem, config.grouper.partition_steps > 0 ? NumGroups(config, problem) : 0) {
    for (const Parameter& p : parameters.all()) {
      parameters_[p.name] = TableOf(p.value);
    }
  }

  struct Score {
    double grouping = 0, devices = 0, entropy = 0;  ///< log p(g), log p(d | g), placer's entropy
  };
  Score Of(const HierarchicalAgent::Decision& decision) const {
    Score score;
    const Table logits = GrouperLogits();
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

  Table GrouperLogits() const {
    const Matrix input =
        GrouperInput(units_, config_.grouper.features, config_.grouper.standardize);
    const Matrix counts(units_.kind_counts);
    const Table& types = parameters_.at("grouper.types");
    Table logits;
    for (int unit = 0; unit < units_.num_units(); ++unit) {
      Row x(types[0].size(), 0.0);
      for (std::size_t kind = 0; kind < units_.kinds.size(); ++kind) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] += counts(unit, kind) / units_.num_ops[unit] * types[kind][i];
        }
      }
      if (!units_.part.empty()) x = Plus(x, types[units_.kinds.size() + units_.part[unit]]);
      x.insert(x.end(), input.row(unit).begin(), input.row(unit).end());
      Row hidden = Linear("grouper.hidden", x);
      for (double& h : hidden) h = config_.grouper.gain * std::max(h, 0.0);
      logits.push_back(Linear("grouper.output", hidden));
    }
    return logits;
  }

 private:
  Row Linear(const std::string& name, const Row& x) const {
    return Plus(Times(x, parameters_.at(name + ".weights")), parameters_.at(name + ".bias")[0]);
  }
  CellState Step(const std::string& name, const Row& gates, const CellState& state) const {
    return LstmStep(Plus(gates, Times(state.hidden, parameters_.at(name + ".recurrent"))), state);
  }

  void Place(const GroupSequence& groups, const std::vector<int>& devices, Score& score) const {
    const int steps = static_cast<int>(groups.input.rows()), num_devices = problem_.num_devices();
    const std::size_t width = config_.placer.hidden;
    const CellState zero{Row(width / 2, 0.0), Row(width / 2, 0.0)};
    std::vector<CellState> forward(steps), backward(steps);
    for (int i = 0; i < steps; ++i) {
      const Row x(groups.input.row(i).begin(), groups.input.row(i).end());
      forward[i] =
          Step("placer.forward", Linear("placer.forward", x), i == 0 ? zero : forward[i - 1]);
    }
    for (int i = steps - 1; i >= 0; --i) {
      const Row x(groups.input.row(i).begin(), groups.input.row(i).end());
      backward[i] = Step(
          "placer.backward", Linear("placer.backward", x), i == steps - 1 ? zero : backward[i + 1]);
    }
    CellState state{Joined(forward[steps - 1].hidden, backward[0].hidden),
                    Joined(forward[steps - 1].cell, backward[0].cell)};
    Table states, keys;
    for (int i = 0; i < steps; ++i) {
      states.push_back(Joined(forward[i].hidden, backward[i].hidden));
      keys.push_back(Linear("placer.keys", states[i]));
    }
    const Row& v = parameters_.at("placer.attention")[0];
    for (int t = 0; t < steps; ++t) {
      const int before = t == 0 ? num_devices : devices[t - 1];
      Row gates = Linear("placer.decoder", parameters_.at("placer.devices")[before]);
      if (config_.placer.aligned) {
        gates = Plus(gates, Times(states[t], parameters_.at("placer.aligned")));
      }
      state = Step("placer.decoder", gates, state);
      const Row query = Linear("placer.query", state.hidden);
      Row weights(steps, 0.0), context(width, 0.0);
      for (int s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < width; ++i)
          weights[s] += v[i] * std::tanh(query[i] + keys[s][i]);
      }
      weights = LogSoftmax(weights);
      for (int s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < width; ++i) context[i] += std::exp(weights[s]) * states[s][i];
      }
      Row logits = Linear("placer.output", Joined(state.hidden, context));
      std::vector<bool> allowed(num_devices);
      for (int d = 0; d < num_devices; ++d) {
        logits[d] =
            config_.placer.tanh_constant * std::tanh(logits[d] / config_.placer.temperature);
        allowed[d] = groups.allowed(t, d) != 0;
      }
      const Row choices = LogSoftmax(logits, allowed);
      score.devices += choices[devices[t]];
      score.entropy += Entropy(choices);
    }
  }

  HierarchicalConfig config_;
  const Problem& problem_;
  UnitFeatures units_;
  std::map<std::string, Table> parameters_;
};

}  // namespace emplace::testing::plain
