#pragma once

// The placer chooses a device for each group of a sequence, one group after another (ICLR 2018).
//
//   s_i = [forward LSTM, backward LSTM](inputs)_i               states of the encoder [S, hidden]
//   h_t = LSTM(vector of the device of group t - 1, h_{t-1})    decoder, from the last states
//   c_t = sum_i softmax_i(v tanh(h_t Wq + s_i Wk)) s_i          additive attention
//   p(device | group t, devices before) = softmax(C tanh(([h_t, c_t] W + b) / T))
//
// The paper has a hidden width of 256, C = 5 and T = 10; the reference code has C = T = 1. Each
// direction of the encoder has half of the width, so that the decoder can start from both. With
// `aligned` step t of the decoder also reads s_t, so that attention need not learn which group is
// placed next. Neither is in the paper. Devices on which no unit of the group may run have
// probability 0.

#include <span>
#include <vector>

#include "agents/hierarchical/hierarchical_features.h"
#include "agents/shared/part_draws.h"
#include "framework/base/random.h"
#include "framework/learn/layers.h"

namespace emplace {

/// Exploration noise on the logits of grouper and placer, as in the reference code of ICLR 2018:
/// returns logits + relative * RMS(logits) * n: n is standard normal, independent for each entry,
/// and the RMS is over all entries. The noise is a constant to the gradient, and a draw from the
/// sum has the log-probability of the sum.
/// @param logits  [n, m]
/// @param relative  0: returns `logits` and draws nothing
/// @param rows  number of first rows that get noise
Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng, int rows);

struct PlacerConfig {
  int hidden = 64;
  int device_embedding = 16;
  double tanh_constant = 5;
  double temperature = 1;
  bool aligned = true;
  bool by_position = true;
  FeatureConfig features;
  void Visit(FieldVisitor& v) {
    v.Field("hidden", hidden, Between(2, 1 << 16), "width of encoder, decoder and attention; even");
    v.Field(
        "device_embedding", device_embedding, Between(1, 1 << 16), "width of a device's vector");
    v.Field("tanh_constant", tanh_constant, Between(1e-6, 1e6), "C of the logits C tanh(l / T)");
    v.Field("temperature", temperature, Between(1e-6, 1e6), "T of the logits C tanh(l / T)");
    v.Field(
        "aligned", aligned, "let the decoder also read the encoder's state of the group to place");
    v.Field("by_position", by_position, "order groups by their mean position instead of by id");
    v.Group("features", "inputs in addition to the published ones", [this](FieldVisitor& g) {
      features.Visit(g);
    });
  }
};

class Placer {
 public:
  /// Adds "placer.*" to `parameters`.
  /// @param input_width  of GroupSequence::input
  /// @param key  prefix of these settings among the agent's, for messages: "placer"
  /// @throws SettingError
  Placer(const PlacerConfig& config,
         int input_width,
         int num_devices,
         ParameterSet& parameters,
         Rng& rng,
         const std::string& key);

  /// A placement to draw, or to score.
  struct Row {
    const GroupSequence* groups;
    const std::vector<int>* devices = nullptr;  ///< [S] to score; nullptr: to draw
    const std::vector<int>* parts = nullptr;    ///< [S] to draw with `draws`
  };
  struct Decoded {
    std::vector<std::vector<int>> devices;  ///< [rows][S] along the row's sequence
    Var log_probability;                    ///< [rows, 1]
    Var entropy;                            ///< [rows, 1] sum over the groups [nats]
  };
  /// Decodes all rows together. Each row has the result that it has alone, except for noise and for
  /// the numbers that its draws get. The encoder runs once for neighbouring rows of one sequence.
  /// @param rows  to draw first, then those to score
  /// @param noise  `relative` of WithNoise(), applied to the logits of each step of rows to draw;
  ///   the log-probability is that of the noisy distribution
  /// @param draws  draws of the rows with `parts`; nullptr: draws are independent
  Decoded Decode(Tape& tape,
                 std::span<const Row> rows,
                 double noise,
                 Rng& rng,
                 const PartDraws* draws = nullptr) const;

 private:
  struct Encoded {
    Var states;                    // [sum of S, hidden]
    Var hidden, cell;              // [rows, hidden] last states of both directions
    std::vector<RowRange> ranges;  // [rows] of states
  };
  Encoded Encode(Tape& tape, std::span<const Row> rows) const;

  PlacerConfig config_;
  int num_devices_;
  Lstm forward_, backward_, decoder_;
  Linear keys_, query_, output_;
  Parameter* attention_;          // [1, hidden]
  Parameter* devices_;            // [num_devices + 1, device_embedding]; last row: none yet
  Parameter* aligned_ = nullptr;  // [hidden, 4 hidden]
};

}  // namespace emplace
