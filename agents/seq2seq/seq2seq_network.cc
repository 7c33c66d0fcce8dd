#include "agents/seq2seq/seq2seq_network.h"

#include <cmath>

#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"

namespace emplace {
namespace {

constexpr float kOutputBound = 0.01F;

const Seq2SeqNetworkConfig& Validated(const Seq2SeqNetworkConfig& config) {
  RequireRange("hidden", config.hidden, 1, 1 << 14);
  RequireRange("attention", config.attention, 1, 1 << 14);
  RequireRange("type_vector", config.type_vector, 1, 1 << 14);
  RequireRange("device_vector", config.device_vector, 1, 1 << 14);
  RequireRange("logit_bound", config.logit_bound, 0, 1e6);
  if (config.bidirectional && config.hidden % 2 != 0) {
    throw SettingError(
        "hidden",
        fmt::format("expected an even number for a bidirectional encoder, got {}", config.hidden));
  }
  return config;
}

float Bound(int width) {
  return 1 / std::sqrt(static_cast<float>(width));
}

}  // namespace

void Seq2SeqNetworkConfig::Visit(FieldVisitor& v) {
  v.Field("hidden", hidden, "width of encoder and decoder");
  v.Field("attention", attention, "width of the attention's hidden layer");
  v.Field("type_vector", type_vector, "width of an op type's trainable vector");
  v.Field("device_vector", device_vector, "width of a device's trainable vector");
  v.Field("aligned", aligned, "the decoder's step for a group also sees the encoder's state of it");
  v.Field("bidirectional", bidirectional, "encoders of half the width from both ends");
  v.Field("logit_bound", logit_bound, "logits stay within this by tanh; 0: not bounded");
  v.Group("features", "what the encoder sees of a group", [this](FieldVisitor& g) {
    features.Visit(g);
  });
}

Seq2SeqNetwork::Seq2SeqNetwork(const Seq2SeqNetworkConfig& config,
                               const Problem& problem,
                               ParameterSet& parameters,
                               Rng& rng)
    : features_(MakeSeq2SeqFeatures(problem, Validated(config).features, "features")),
      order_(problem.group_order().begin(), problem.group_order().end()),
      num_devices_(problem.num_devices()),
      logit_bound_(static_cast<float>(config.logit_bound)),
      decoder_(parameters, "decoder", config.hidden, config.hidden, rng),
      query_(parameters, "query", config.hidden, config.attention, rng),
      keys_(parameters, "keys", config.hidden, config.attention, rng) {
  const int hidden = config.hidden, devices = num_devices_;
  for (int group : order_) {
    Matrix& row = allowed_.emplace_back(1, devices);
    for (int d = 0; d < devices; ++d) row(0, d) = problem.allowed(group, d);
  }
  const auto uniform = [&](const std::string& name, int rows, int cols, float bound) {
    return &parameters.AddUniform(name, rows, cols, bound, rng);
  };
  const int num_kinds = static_cast<int>(features_.kinds->cols());
  const int num_neighbors = static_cast<int>(features_.adjacency->cols());
  type_vectors_ = uniform("type_vectors", num_kinds, config.type_vector, 1);
  const int directions = config.bidirectional ? 2 : 1, width = hidden / directions;
  const int dense = static_cast<int>(features_.dense.cols());
  for (const std::string name : {"forward", "backward"}) {
    if (static_cast<int>(encoders_.size()) == directions) break;
    encoders_.emplace_back(parameters, name, config.type_vector + dense, width, rng);
    neighbors_.push_back(uniform(name + ".neighbors", num_neighbors, 4 * width, Bound(width)));
  }
  device_vectors_ = uniform("device_vectors", devices, config.device_vector, 1);
  device_weights_ = uniform("device_weights", config.device_vector, 4 * hidden, Bound(hidden));
  if (config.aligned) {
    aligned_weights_ = uniform("aligned_weights", hidden, 4 * hidden, Bound(hidden));
  }
  attention_ = uniform("attention", 1, config.attention, Bound(config.attention));
  output_weights_ = uniform("output.weights", hidden, devices, kOutputBound);
  output_bias_ = &parameters.Add("output.bias", 1, devices);
}

Seq2SeqNetwork::Encoded Seq2SeqNetwork::Encode(Tape& tape) const {
  const Var types = SparseMatMul(tape, features_.kinds, tape.Use(*type_vectors_));
  const Var x = ConcatCols(tape, {types, tape.ConstantView(features_.dense)});
  const int last = static_cast<int>(order_.size()) - 1;
  std::vector<Var> states, hidden, cell;
  for (std::size_t i = 0; i < encoders_.size(); ++i) {
    const bool backward = i == 1;
    const int width = encoders_[i].hidden();
    const Var neighbors = SparseMatMul(tape, features_.adjacency, tape.Use(*neighbors_[i]));
    const Var gates = Add(tape, encoders_[i].InputGates(tape, x), neighbors);
    const Var sequence = encoders_[i].SequenceFromGates(tape, gates, backward);
    const Var end = SliceRows(tape, sequence, backward ? 0 : last, 1);
    states.push_back(SliceCols(tape, sequence, 0, width));
    hidden.push_back(SliceCols(tape, end, 0, width));
    cell.push_back(SliceCols(tape, end, width, width));
  }
  return {ConcatCols(tape, states), {ConcatCols(tape, hidden), ConcatCols(tape, cell)}};
}

Seq2SeqNetwork::Rollout Seq2SeqNetwork::Sample(Tape& tape,
                                               int samples,
                                               Rng& rng,
                                               const Placement* forced) const {
  const int rows = samples + (forced != nullptr ? 1 : 0);
  const int steps = static_cast<int>(order_.size());
  Rollout rollout{std::vector<Placement>(rows), {}, {}};
  for (Placement& placement : rollout.placements) placement.device.resize(steps);

  // What is the same in every step, or for every row, is made once.
  const Encoded encoded = Encode(tape);
  const Var keys = keys_(tape, encoded.states);
  const Var attention = tape.Use(*attention_);
  const Var device_gates = MatMul(tape, tape.Use(*device_vectors_), tape.Use(*device_weights_));
  Var aligned_gates;
  if (aligned_weights_ != nullptr) {
    aligned_gates = MatMul(tape, encoded.states, tape.Use(*aligned_weights_));
  }
  const Var output_weights = tape.Use(*output_weights_), output_bias = tape.Use(*output_bias_);
  const std::vector<int> first(rows, 0);
  LstmState state{Gather(tape, encoded.last.hidden, first), Gather(tape, encoded.last.cell, first)};

  std::vector<int> devices(rows, -1), all_devices, row_of;
  std::vector<Var> log_softmax;
  for (int t = 0; t < steps; ++t) {
    const Var weights = AdditiveAttention(tape, query_(tape, state.hidden), keys, attention);
    const Var context = MatMul(tape, weights, encoded.states);
    Var gates = Add(tape, decoder_.InputGates(tape, context), Gather(tape, device_gates, devices));
    if (aligned_weights_ != nullptr) {
      gates = Add(tape, gates, SliceRows(tape, aligned_gates, t, 1));
    }
    state = decoder_.StepFromGates(tape, gates, state);
    Var logits = Affine(tape, state.hidden, output_weights, output_bias);
    if (logit_bound_ > 0) {
      logits = Scale(tape, Tanh(tape, Scale(tape, logits, 1 / logit_bound_)), logit_bound_);
    }
    log_softmax.push_back(LogSoftmax(tape, logits, &allowed_[t]));
    devices = SampleRows(tape.value(log_softmax.back()), rng);
    if (forced != nullptr) devices.back() = forced->device[order_[t]];
    for (int row = 0; row < rows; ++row) {
      rollout.placements[row].device[order_[t]] = static_cast<DeviceIndex>(devices[row]);
      all_devices.push_back(devices[row]);
      row_of.push_back(row);
    }
  }
  const Var all = ConcatRows(tape, log_softmax);
  rollout.log_probability = SegmentSum(tape, Pick(tape, all, all_devices), row_of, rows);
  rollout.entropy = SegmentSum(tape, Entropy(tape, all), row_of, rows);
  return rollout;
}

}  // namespace emplace
