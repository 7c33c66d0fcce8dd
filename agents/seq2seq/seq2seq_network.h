#pragma once

// The policy of ICML 2017: a sequence-to-sequence network that reads the groups in topological
// order and emits a device for each of them.
//
//   x_t = [mean vector of the group's op types; dense features; adjacency]     (seq2seq_features.h)
//   e_1 .. e_T = LSTM(x_1 .. x_T)                                                the encoder
//   a_t = softmax_s(v . tanh(W_q d_{t-1} + W_k e_s)),   c_t = sum_s a_t[s] e_s   additive attention
//   d_t = LSTM([vector of the device y_{t-1}; c_t], d_{t-1}),   d_0 = state after e_T
//   y_t ~ softmax(W_o d_t + b_o) over the devices that group t may use
//
// so p(P) = prod_t p(y_t | y_1 .. y_{t-1}). The placements of a batch are the rows of one pass
// through the decoder, after a single pass through the encoder. W_o begins near zero, so that all
// devices are about equally likely at first. Three settings are not in the paper:
// - `aligned` gives the decoder e_t beside c_t, so that attention need not learn which state
//   belongs to its step.
// - `bidirectional` makes the encoder two LSTMs of half the width, one from each end.
// - `logit_bound` C > 0 replaces each logit l by C tanh(l / C) (Bello et al. 2017). No device then
//   becomes exp(2 C) times less likely than another, and a converged policy still explores.
//
// The shapes of the parameters follow from the settings and a vocabulary (seq2seq_features.h) and
// do not depend on a graph: one network runs on the inputs of any problem with the vocabulary's
// number of devices.
//
// A pass keeps rows * T attention weights per step, so time and memory grow with T^2. Graphs are
// therefore coarsened to hundreds of groups; the graphs of the paper have 83 to 280 groups.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agents/seq2seq/seq2seq_features.h"
#include "agents/shared/part_draws.h"
#include "framework/learn/layers.h"

namespace emplace {

struct Seq2SeqNetworkConfig {
  int hidden = 64;
  int attention = 64;
  int type_vector = 16;
  int device_vector = 16;
  bool aligned = true;
  bool bidirectional = false;
  double logit_bound = 0;
  Seq2SeqFeaturesConfig features;
  /// Visits the fields into the agent's own settings, without a nested map.
  void Visit(FieldVisitor& v);
};

/// Inputs of a network for one problem.
struct Seq2SeqInputs {
  /// CHECKs that the problem has the vocabulary's number of devices.
  Seq2SeqInputs(const Problem& problem,
                const Seq2SeqVocabulary& vocabulary,
                const Seq2SeqFeaturesConfig& config);
  Seq2SeqFeatures features;
  std::vector<int> order;       ///< [T] groups
  std::vector<Matrix> allowed;  ///< [T][1, D]
};

class Seq2SeqNetwork {
 public:
  /// @param parameters  outlives this; the network adds its own to it
  /// @throws SettingError if `hidden` is odd and the encoder is bidirectional
  Seq2SeqNetwork(const Seq2SeqNetworkConfig& config,
                 const Seq2SeqVocabulary& vocabulary,
                 ParameterSet& parameters,
                 Rng& rng);

  struct Rollout {
    std::vector<Placement> placements;  ///< [rows]
    Var log_probability;                ///< [rows, 1] of the placements
    Var entropy;                        ///< [rows, 1] sum over the steps [nats]
    // Steps one after another, with all rows of a step together; n = T rows.
    Var step_log_probability;   ///< [n, 1] of the chosen device
    Var step_log_distribution;  ///< [n, D] of all devices; -infinity where not allowed
    std::vector<int> row;       ///< [n]
  };
  // All three need `inputs` made for the network's vocabulary and alive until the tape is cleared.
  /// Draws `samples` placements. With `forced`, one more row at the end follows that placement.
  /// @param draws  correlated draws for as many rows, if its part() is not empty
  /// @throws RunError if the logits are not numbers
  Rollout Sample(Tape& tape,
                 const Seq2SeqInputs& inputs,
                 int samples,
                 Rng& rng,
                 const Placement* forced = nullptr,
                 const PartDraws* draws = nullptr) const;
  /// Scores given placements, which were drawn elsewhere.
  Rollout Score(Tape& tape,
                const Seq2SeqInputs& inputs,
                std::span<const Placement> placements) const;
  /// Returns the placement with the most probable device in each step, the first of equals. It need
  /// not be the most probable placement.
  /// @throws RunError as Sample
  Rollout Greedy(Tape& tape, const Seq2SeqInputs& inputs) const;

 private:
  struct Encoded {
    Var states;      // [T, H]
    LstmState last;  // [1, H]
  };
  Encoded Encode(Tape& tape, const Seq2SeqInputs& inputs) const;
  // @param choose  step and its log-probabilities [rows, D] -> [rows] devices
  using Choose = std::function<std::vector<int>(int step, const Matrix& log_probabilities)>;
  Rollout Decode(Tape& tape, const Seq2SeqInputs& inputs, int rows, const Choose& choose) const;

  float logit_bound_;
  Parameter* type_vectors_;            // [num_kinds, type_vector]
  std::vector<Lstm> encoders_;         // one, or forward and backward
  std::vector<Parameter*> neighbors_;  // [2 W, 4 H] per encoder: input weights of the adjacency
  Lstm decoder_;                       // on the context
  Parameter *device_vectors_, *device_weights_;  // [D, device_vector], [device_vector, 4 H]
  Parameter* aligned_weights_ = nullptr;         // [H, 4 H]
  Linear query_, keys_;                          // [H, A]
  Parameter* attention_;                         // [1, A]
  Parameter *output_weights_, *output_bias_;     // [H, D], [1, D]
};

}  // namespace emplace
