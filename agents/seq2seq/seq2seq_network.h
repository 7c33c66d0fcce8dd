#pragma once

// The policy of ICML 2017 [R]: a sequence-to-sequence network that reads the groups in topological
// order and emits a device for each of them.
//
//   x_t = [mean vector of the group's op types; dense features; adjacency]     (seq2seq_features.h)
//   e_1 .. e_T = LSTM(x_1 .. x_T)                                                the encoder
//   a_t = softmax_s(v . tanh(W_q d_{t-1} + W_k e_s)),   c_t = sum_s a_t[s] e_s   additive attention
//   d_t = LSTM([vector of the device y_{t-1}; c_t], d_{t-1}),   d_0 = state after e_T
//   y_t ~ softmax(W_o d_t + b_o) over the devices that group t may use
//
// so p(P) = prod_t p(y_t | y_1 .. y_{t-1}): the placements of a batch are the rows of one pass
// through the decoder, after one through the encoder. [ours], behind settings: `aligned` gives the
// decoder e_t beside c_t, so that attention need not learn which state belongs to its step;
// `bidirectional` makes the encoder two LSTMs of half the width, one from each end; `logit_bound`
// C > 0 replaces each logit l by C tanh(l / C) (Bello et al. 2017), so that no device ever becomes
// exp(2 C) times less likely than another: a policy that has settled still tries some. W_o begins
// near zero: all devices are then about equally likely.
//
// A pass keeps rows * T attention weights per step: time and memory grow with T^2. Graphs are
// coarsened to hundreds of groups (the paper's have 83 to 280 [R]).

#include <string>
#include <vector>

#include "agents/seq2seq/seq2seq_features.h"
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
  /// Visits its fields into the agent's settings (no map of its own).
  void Visit(FieldVisitor& v);
};

class Seq2SeqNetwork {
 public:
  /// @param parameters  outlives this; gets the network's
  /// @throws SettingError for a width out of range
  Seq2SeqNetwork(const Seq2SeqNetworkConfig& config,
                 const Problem& problem,
                 ParameterSet& parameters,
                 Rng& rng);

  struct Rollout {
    std::vector<Placement> placements;  ///< [rows]
    Var log_probability;                ///< [rows, 1] of the placements
    Var entropy;                        ///< [rows, 1] sum over the steps [nats]
  };
  /// Draws `samples` placements; a row more, the last, follows `forced` if there is one.
  /// @throws RunError if the logits are not numbers
  Rollout Sample(Tape& tape, int samples, Rng& rng, const Placement* forced = nullptr) const;

 private:
  struct Encoded {
    Var states;      // [T, H]
    LstmState last;  // [1, H]
  };
  Encoded Encode(Tape& tape) const;

  Seq2SeqFeatures features_;
  std::vector<int> order_;       // [T] groups
  std::vector<Matrix> allowed_;  // [T][1, D]
  int num_devices_;
  float logit_bound_;
  Parameter* type_vectors_;            // [num_kinds, type_vector]
  std::vector<Lstm> encoders_;         // one, or forward and backward
  std::vector<Parameter*> neighbors_;  // [2 T, 4 H] of each: the adjacency's part of its weights
  Lstm decoder_;                       // on the context
  Parameter *device_vectors_, *device_weights_;  // [D, device_vector], [device_vector, 4 H]
  Parameter* aligned_weights_ = nullptr;         // [H, 4 H]
  Linear query_, keys_;                          // [H, A]
  Parameter* attention_;                         // [1, A]
  Parameter *output_weights_, *output_bias_;     // [H, D], [1, D]
};

}  // namespace emplace
