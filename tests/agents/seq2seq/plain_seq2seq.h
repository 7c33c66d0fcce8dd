#pragma once

// The formulas of seq2seq_network.h once more, in plain loops and double precision.

#include <cmath>
#include <string>
#include <vector>

#include "agents/seq2seq/seq2seq_network.h"
#include "tests/support/plain_networks.h"

namespace emplace::testing::plain {

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
  CellState last;
  for (int direction = 0; direction < (config.bidirectional ? 2 : 1); ++direction) {
    const std::string name = direction == 0 ? "forward" : "backward";
    const std::size_t width = config.hidden / (config.bidirectional ? 2 : 1);
    CellState state{Row(width, 0), Row(width, 0)};
    for (int i = 0; i < steps; ++i) {
      const int t = direction == 0 ? i : steps - 1 - i;
      const Row share(kinds.row(t).begin(), kinds.row(t).end());
      Row x = Times(share, of("type_vectors"));
      x.insert(x.end(), features.dense.row(t).begin(), features.dense.row(t).end());
      Row gates = Plus(Times(x, of(name + ".weights")), of(name + ".bias")[0]);
      const Row near(adjacency.row(t).begin(), adjacency.row(t).end());
      gates = Plus(gates, Times(near, of(name + ".neighbors")));
      gates = Plus(gates, Times(state.hidden, of(name + ".recurrent")));
      state = LstmStep(gates, state);
      states[t].insert(states[t].end(), state.hidden.begin(), state.hidden.end());
    }
    last.hidden.insert(last.hidden.end(), state.hidden.begin(), state.hidden.end());
    last.cell.insert(last.cell.end(), state.cell.begin(), state.cell.end());
  }

  double log_probability = 0;
  entropy = 0;
  CellState state = last;
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
    state = LstmStep(gates, state);

    const int group = problem.group_order()[t];
    Row logits = Plus(Times(state.hidden, of("output.weights")), of("output.bias")[0]);
    if (config.logit_bound > 0) {
      for (double& logit : logits) {
        logit = config.logit_bound * std::tanh(logit / config.logit_bound);
      }
    }
    const Row choices = LogSoftmax(logits, AllowedDevices(problem, group));
    entropy += Entropy(choices);
    previous = placement.device[group];
    log_probability += choices[previous];
  }
  return log_probability;
}

}  // namespace emplace::testing::plain
