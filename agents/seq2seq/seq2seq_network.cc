#include "agents/seq2seq/seq2seq_network.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"

namespace emplace {
namespace {

constexpr float kOutputBound = 0.01F;

const Seq2SeqNetworkConfig& ValidatedNetwork(const Seq2SeqNetworkConfig& config) {
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
  v.Field("hidden", hidden, Between(1, 1 << 14), "width of encoder and decoder");
  v.Field("attention", attention, Between(1, 1 << 14), "width of the attention's hidden layer");
  v.Field(
      "type_vector", type_vector, Between(1, 1 << 14), "width of an op type's trainable vector");
  v.Field(
      "device_vector", device_vector, Between(1, 1 << 14), "width of a device's trainable vector");
  v.Field(
      "aligned", aligned, "let the decoder also read the encoder's state of the group to place");
  v.Field("bidirectional", bidirectional, "use two encoders of half the width, one from each end");
  v.Field(
      "logit_bound", logit_bound, Between(0, 1e6), "bound of the logits by tanh; 0: not bounded");
  v.Group("features", "inputs of the encoder about a group", [this](FieldVisitor& g) {
    features.Visit(g);
  });
}

Seq2SeqInputs::Seq2SeqInputs(const Problem& problem,
                             const Seq2SeqVocabulary& vocabulary,
                             const Seq2SeqFeaturesConfig& config)
    : features(MakeSeq2SeqFeatures(problem, vocabulary, config)),
      order(problem.group_order().begin(), problem.group_order().end()) {
  for (int group : order) {
    Matrix& row = allowed.emplace_back(1, problem.num_devices());
    for (int d = 0; d < problem.num_devices(); ++d) row(0, d) = problem.allowed(group, d);
  }
}

Seq2SeqNetwork::Seq2SeqNetwork(const Seq2SeqNetworkConfig& config,
                               const Seq2SeqVocabulary& vocabulary,
                               ParameterSet& parameters,
                               Rng& rng)
    : logit_bound_(static_cast<float>(ValidatedNetwork(config).logit_bound)),
      decoder_(parameters, "decoder", config.hidden, config.hidden, rng),
      query_(parameters, "query", config.hidden, config.attention, rng),
      keys_(parameters, "keys", config.hidden, config.attention, rng) {
  const int hidden = config.hidden, devices = vocabulary.num_devices;
  const auto uniform = [&](const std::string& name, int rows, int cols, float bound) {
    return &parameters.AddUniform(name, rows, cols, bound, rng);
  };
  const int num_kinds = static_cast<int>(vocabulary.kinds.size());
  const int num_neighbors = config.features.adjacency ? 2 * vocabulary.num_groups : 0;
  type_vectors_ = uniform("type_vectors", num_kinds, config.type_vector, 1);
  const int directions = config.bidirectional ? 2 : 1, width = hidden / directions;
  const int dense = Seq2SeqDenseWidth(config.features, devices);
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

Seq2SeqNetwork::Encoded Seq2SeqNetwork::Encode(Tape& tape, const Seq2SeqInputs& inputs) const {
  const Var types = SparseMatMul(tape, inputs.features.kinds, tape.Use(*type_vectors_));
  const Var x = ConcatCols(tape, {types, tape.ConstantView(inputs.features.dense)});
  const int last = static_cast<int>(inputs.order.size()) - 1;
  std::vector<Var> states, hidden, cell;
  for (std::size_t i = 0; i < encoders_.size(); ++i) {
    const bool backward = i == 1;
    const int width = encoders_[i].hidden();
    const Var neighbors = SparseMatMul(tape, inputs.features.adjacency, tape.Use(*neighbors_[i]));
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
                                               const Seq2SeqInputs& inputs,
                                               int samples,
                                               Rng& rng,
                                               const Placement* forced,
                                               const PartDraws* draws) const {
  const int rows = samples + (forced != nullptr ? 1 : 0);
  const auto part = draws == nullptr ? std::span<const int>() : draws->part();
  std::vector<int> all_rows(rows);
  std::iota(all_rows.begin(), all_rows.end(), 0);
  return Decode(tape, inputs, rows, [&](int t, const Matrix& log_probabilities) {
    std::vector<int> devices;
    if (part.empty()) {
      devices = SampleRows(log_probabilities, rng);
    } else {
      const std::vector<int> parts(rows, part[inputs.order[t]]);
      devices = draws->Draw(all_rows, parts, log_probabilities);
    }
    if (forced != nullptr) devices.back() = forced->device[inputs.order[t]];
    return devices;
  });
}

Seq2SeqNetwork::Rollout Seq2SeqNetwork::Score(Tape& tape,
                                              const Seq2SeqInputs& inputs,
                                              std::span<const Placement> placements) const {
  const int rows = static_cast<int>(placements.size());
  return Decode(tape, inputs, rows, [&](int t, const Matrix&) {
    std::vector<int> devices;
    for (const Placement& placement : placements) {
      devices.push_back(placement.device[inputs.order[t]]);
    }
    return devices;
  });
}

Seq2SeqNetwork::Rollout Seq2SeqNetwork::Greedy(Tape& tape, const Seq2SeqInputs& inputs) const {
  return Decode(tape, inputs, 1, [](int, const Matrix& log_probabilities) {
    return ArgmaxRows(log_probabilities);
  });
}

Seq2SeqNetwork::Rollout Seq2SeqNetwork::Decode(Tape& tape,
                                               const Seq2SeqInputs& inputs,
                                               int rows,
                                               const Choose& choose) const {
  const int steps = static_cast<int>(inputs.order.size());
  Rollout rollout;
  rollout.placements.resize(rows);
  for (Placement& placement : rollout.placements) placement.device.resize(steps);

  // The parts that are equal in all steps or for all rows are computed once.
  const Encoded encoded = Encode(tape, inputs);
  const AttentionKeys keys(tape, keys_(tape, encoded.states));
  const Var attention = tape.Use(*attention_);
  const Var device_gates = MatMul(tape, tape.Use(*device_vectors_), tape.Use(*device_weights_));
  Var aligned_gates;
  if (aligned_weights_ != nullptr) {
    aligned_gates = MatMul(tape, encoded.states, tape.Use(*aligned_weights_));
  }
  const Var output_weights = tape.Use(*output_weights_), output_bias = tape.Use(*output_bias_);
  const std::vector<int> first(rows, 0);
  LstmState state{Gather(tape, encoded.last.hidden, first), Gather(tape, encoded.last.cell, first)};

  std::vector<int> devices(rows, -1), all_devices;
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
    log_softmax.push_back(LogSoftmax(tape, logits, &inputs.allowed[t]));
    devices = choose(t, tape.value(log_softmax.back()));
    for (int row = 0; row < rows; ++row) {
      rollout.placements[row].device[inputs.order[t]] = static_cast<DeviceIndex>(devices[row]);
      all_devices.push_back(devices[row]);
      rollout.row.push_back(row);
    }
  }
  const Var all = ConcatRows(tape, log_softmax);
  const Var chosen = Pick(tape, all, all_devices);
  rollout.log_probability = SegmentSum(tape, chosen, rollout.row, rows);
  rollout.entropy = SegmentSum(tape, Entropy(tape, all), rollout.row, rows);
  rollout.step_log_probability = chosen;
  rollout.step_log_distribution = all;
  return rollout;
}

}  // namespace emplace
