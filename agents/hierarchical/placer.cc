#include "agents/hierarchical/placer.h"

#include <cmath>
#include <optional>
#include <utility>

#include <boost/random/normal_distribution.hpp>

#include "framework/config/setting_error.h"
#include "framework/learn/categorical.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

const PlacerConfig& CheckedPlacer(const PlacerConfig& config, const std::string& key) {
  if (config.hidden % 2 != 0) {
    throw SettingError(key + ".hidden",
                       "expected an even number, a half for each direction of the encoder, got " +
                           std::to_string(config.hidden));
  }
  return config;
}

}  // namespace

Placer::Placer(const PlacerConfig& config,
               int input_width,
               int num_devices,
               ParameterSet& parameters,
               Rng& rng,
               const std::string& key)
    : config_(CheckedPlacer(config, key)),
      num_devices_(num_devices),
      forward_(parameters, "placer.forward", input_width, config.hidden / 2, rng),
      backward_(parameters, "placer.backward", input_width, config.hidden / 2, rng),
      decoder_(parameters, "placer.decoder", config.device_embedding, config.hidden, rng),
      keys_(parameters, "placer.keys", config.hidden, config.hidden, rng),
      query_(parameters, "placer.query", config.hidden, config.hidden, rng),
      output_(parameters, "placer.output", 2 * config.hidden, num_devices, rng),
      attention_(&parameters.AddGlorot("placer.attention", 1, config.hidden, rng)),
      devices_(&parameters.AddUniform("placer.devices",
                                      num_devices + 1,
                                      config.device_embedding,
                                      0.1F,
                                      rng)) {
  if (config.aligned) {
    aligned_ = &parameters.AddGlorot("placer.aligned", config.hidden, 4 * config.hidden, rng);
  }
}

Placer::Encoded Placer::Encode(Tape& tape, const Matrix& input) const {
  const Var x = tape.Constant(input);
  const int last = tape.rows(x) - 1, half = config_.hidden / 2;
  const Var forward = forward_.Sequence(tape, x);
  const Var backward = backward_.Sequence(tape, x, true);
  const auto both = [&](Var a, Var b, int begin) {
    return ConcatCols(tape, {SliceCols(tape, a, begin, half), SliceCols(tape, b, begin, half)});
  };
  const Var forward_end = SliceRows(tape, forward, last, 1);
  const Var backward_end = SliceRows(tape, backward, 0, 1);
  return {both(forward, backward, 0),
          both(forward_end, backward_end, 0),
          both(forward_end, backward_end, half)};
}

Placer::Decoded Placer::Sample(Tape& tape,
                               const GroupSequence& groups,
                               int rows,
                               double noise,
                               Rng& rng) const {
  return Decode(tape, groups, rows, nullptr, noise, &rng);
}

Placer::Decoded Placer::Score(Tape& tape,
                              const GroupSequence& groups,
                              std::vector<std::vector<int>> devices) const {
  return Decode(tape, groups, static_cast<int>(devices.size()), &devices, 0, nullptr);
}

Placer::Decoded Placer::Decode(Tape& tape,
                               const GroupSequence& groups,
                               int rows,
                               const std::vector<std::vector<int>>* given,
                               double noise,
                               Rng* rng) const {
  const Encoded encoded = Encode(tape, groups.input);
  const AttentionKeys keys(tape, keys_(tape, encoded.states));
  const Var device_gates = decoder_.InputGates(tape, tape.Use(*devices_));  // [D + 1, 4 hidden]
  std::optional<Var> state_gates;
  if (aligned_ != nullptr) state_gates = MatMul(tape, encoded.states, tape.Use(*aligned_));
  const std::vector<int> repeat(rows, 0);
  LstmState state{Gather(tape, encoded.hidden, repeat), Gather(tape, encoded.cell, repeat)};

  Decoded decoded;
  decoded.devices.resize(rows);
  std::vector<int> chosen(rows, num_devices_);
  std::vector<Var> log_probabilities, entropies;
  for (int t = 0; t < tape.rows(encoded.states); ++t) {
    Var gates = Gather(tape, device_gates, chosen);
    if (state_gates) gates = Add(tape, gates, SliceRows(tape, *state_gates, t, 1));
    state = decoder_.StepFromGates(tape, gates, state);
    const Var query = query_(tape, state.hidden);
    const Var weights = AdditiveAttention(tape, query, keys, tape.Use(*attention_));
    const Var context = MatMul(tape, weights, encoded.states);
    Var logits = output_(tape, ConcatCols(tape, {state.hidden, context}));
    logits = Tanh(tape, Scale(tape, logits, static_cast<float>(1 / config_.temperature)));
    logits = Scale(tape, logits, static_cast<float>(config_.tanh_constant));
    if (noise > 0) logits = WithNoise(tape, logits, noise, *rng);
    const Matrix allowed = groups.allowed.row(t);
    const Var log_softmax = LogSoftmax(tape, logits, &allowed);
    if (given == nullptr) {
      chosen = SampleRows(tape.value(log_softmax), *rng);
    } else {
      for (int row = 0; row < rows; ++row) chosen[row] = (*given)[row][t];
    }
    for (int row = 0; row < rows; ++row) decoded.devices[row].push_back(chosen[row]);
    log_probabilities.push_back(Pick(tape, log_softmax, chosen));
    entropies.push_back(Entropy(tape, log_softmax));
  }
  decoded.log_probability = SumOverCols(tape, ConcatCols(tape, log_probabilities));
  decoded.entropy =
      Scale(tape, SumAll(tape, ConcatCols(tape, entropies)), 1.0F / static_cast<float>(rows));
  return decoded;
}

Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng) {
  if (relative == 0) return logits;
  const Matrix& values = tape.value(logits);
  const double mean_square =
      values.cast<double>().squaredNorm() / static_cast<double>(values.size());
  const double deviation = relative * std::sqrt(mean_square);
  boost::random::normal_distribution<double> normal(0, 1);
  Matrix noise(values.rows(), values.cols());
  for (float& x : noise.reshaped<Eigen::RowMajor>()) {
    x = static_cast<float>(deviation * normal(rng));
  }
  return Add(tape, logits, tape.Constant(std::move(noise)));
}

}  // namespace emplace
