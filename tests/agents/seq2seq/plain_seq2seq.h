#pragma once

// The formulas of seq2seq_network.h once more, in plain loops and double precision.

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agents/seq2seq/seq2seq_network.h"

namespace emplace::testing::plain {

using Row = std::vector<double>;
using Table = std::vector<Row>;

inline Table ValueOf(const ParameterSet& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.name != name) continue;
    Table table;
    for (const auto& row : parameter.value.rowwise()) table.emplace_back(row.begin(), row.end());
    return table;
  }
  FAIL("no parameter " << name);
  return {};
}

inline Row Times(const Row& x, const Table& weights) {
  Row y(weights.empty() ? 0 : weights[0].size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * weights[i][j];
  }
  return y;
}

inline Row Plus(Row a, const Row& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

inline double Logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

struct State {
  Row hidden, cell;
};

inline State Cell(const Row& gates, const State& state) {
  const std::size_t width = state.cell.size();
  State next = state;
  for (std::size_t i = 0; i < width; ++i) {
    next.cell[i] = Logistic(gates[width + i]) * state.cell[i] +
                   Logistic(gates[i]) * std::tanh(gates[2 * width + i]);
    next.hidden[i] = Logistic(gates[3 * width + i]) * std::tanh(next.cell[i]);
  }
  return next;
}

/// @param entropy  becomes the sum over the steps [nats]
inline double LogProbability(const Problem& problem,
                             const Seq2SeqVocabulary& vocabulary,
                             const ParameterSet& parameters,
                             const Seq2SeqNetworkConfig& config,
                             const Placement& placement,
                             double& entropy) {
  const auto of = [&](const std::string& name) { return ValueOf(parameters, name); };
  const int steps = problem.num_groups();
  const auto features = MakeSeq2SeqFeatures(problem, vocabulary, config.features);
  const Matrix kinds = *features.kinds, adjacency = *features.adjacency;

  Table states(steps);
  State last;
  for (int direction = 0; direction < (config.bidirectional ? 2 : 1); ++direction) {
    const std::string name = direction == 0 ? "forward" : "backward";
    const std::size_t width = config.hidden / (config.bidirectional ? 2 : 1);
    State state{Row(width, 0), Row(width, 0)};
    for (int i = 0; i < steps; ++i) {
      const int t = direction == 0 ? i : steps - 1 - i;
      const Row share(kinds.row(t).begin(), kinds.row(t).end());
      Row x = Times(share, of("type_vectors"));
      x.insert(x.end(), features.dense.row(t).begin(), features.dense.row(t).end());
      Row gates = Plus(Times(x, of(name + ".weights")), of(name + ".bias")[0]);
      const Row near(adjacency.row(t).begin(), adjacency.row(t).end());
      gates = Plus(gates, Times(near, of(name + ".neighbors")));
      gates = Plus(gates, Times(state.hidden, of(name + ".recurrent")));
      state = Cell(gates, state);
      states[t].insert(states[t].end(), state.hidden.begin(), state.hidden.end());
    }
    last.hidden.insert(last.hidden.end(), state.hidden.begin(), state.hidden.end());
    last.cell.insert(last.cell.end(), state.cell.begin(), state.cell.end());
  }

  double log_probability = 0;
  entropy = 0;
  State state = last;
  int previous = -1;
  for (int t = 0; t < steps; ++t) {
    const Row query = Plus(Times(state.hidden, of("query.weights")), of("query.bias")[0]);
    Row weights(steps);
    double total = 0;
    for (int s = 0; s < steps; ++s) {
      const Row key = Plus(Times(states[s], of("keys.weights")), of("keys.bias")[0]);
      double score = 0;
      for (int a = 0; a < config.attention; ++a) {
        score += of("attention")[0][a] * std::tanh(query[a] + key[a]);
      }
      total += weights[s] = std::exp(score);
    }
    Row context(config.hidden, 0);
    for (int s = 0; s < steps; ++s) {
      for (int i = 0; i < config.hidden; ++i) context[i] += weights[s] / total * states[s][i];
    }
    Row gates = Plus(Times(context, of("decoder.weights")), of("decoder.bias")[0]);
    if (previous >= 0) {
      gates = Plus(gates, Times(of("device_vectors")[previous], of("device_weights")));
    }
    if (config.aligned) gates = Plus(gates, Times(states[t], of("aligned_weights")));
    gates = Plus(gates, Times(state.hidden, of("decoder.recurrent")));
    state = Cell(gates, state);

    const int group = problem.group_order()[t];
    Row logits = Plus(Times(state.hidden, of("output.weights")), of("output.bias")[0]);
    if (config.logit_bound > 0) {
      for (double& logit : logits) {
        logit = config.logit_bound * std::tanh(logit / config.logit_bound);
      }
    }
    double sum = 0;
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (problem.allowed(group, d)) sum += std::exp(logits[d]);
    }
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (!problem.allowed(group, d)) continue;
      entropy -= std::exp(logits[d]) / sum * (logits[d] - std::log(sum));
    }
    previous = placement.device[group];
    log_probability += logits[previous] - std::log(sum);
  }
  return log_probability;
}

}  // namespace emplace::testing::plain
