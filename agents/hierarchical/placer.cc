#include "agents/hierarchical/placer.h"

#include <cmath>
#include <numeric>
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

Placer::Encoded Placer::Encode(Tape& tape, std::span<const Row> rows) const {
  Encoded encoded;
  std::vector<RowRange> sequences;  // of the states
  std::vector<int> sequence_of_row;
  int length = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row == 0 || rows[row].groups != rows[row - 1].groups) {
      sequences.push_back({length, static_cast<int>(rows[row].groups->input.rows())});
      length += sequences.back().count;
    }
    encoded.ranges.push_back(sequences.back());
    sequence_of_row.push_back(static_cast<int>(sequences.size()) - 1);
  }
  Matrix inputs(length, rows.front().groups->input.cols());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const RowRange range = encoded.ranges[row];
    inputs.middleRows(range.begin, range.count) = rows[row].groups->input;
  }
  const Var x = tape.Constant(std::move(inputs));
  const Var forward_gates = forward_.InputGates(tape, x);
  const Var backward_gates = backward_.InputGates(tape, x);
  const int half = config_.hidden / 2;
  std::vector<Var> states, hidden, cell;
  for (const auto [begin, count] : sequences) {
    const Var forward =
        forward_.SequenceFromGates(tape, SliceRows(tape, forward_gates, begin, count));
    const Var backward =
        backward_.SequenceFromGates(tape, SliceRows(tape, backward_gates, begin, count), true);
    const auto both = [&](Var a, Var b, int column) {
      return ConcatCols(tape, {SliceCols(tape, a, column, half), SliceCols(tape, b, column, half)});
    };
    const Var forward_end = SliceRows(tape, forward, count - 1, 1);
    const Var backward_end = SliceRows(tape, backward, 0, 1);
    states.push_back(both(forward, backward, 0));
    hidden.push_back(both(forward_end, backward_end, 0));
    cell.push_back(both(forward_end, backward_end, half));
  }
  encoded.states = ConcatRows(tape, states);
  encoded.hidden = Gather(tape, ConcatRows(tape, hidden), sequence_of_row);
  encoded.cell = Gather(tape, ConcatRows(tape, cell), sequence_of_row);
  return encoded;
}

Placer::Decoded Placer::Decode(Tape& tape,
                               std::span<const Row> rows,
                               double noise,
                               Rng& rng,
                               const PartDraws* draws) const {
  const Encoded encoded = Encode(tape, rows);
  const AttentionKeys keys(tape, keys_(tape, encoded.states));
  const Var device_gates = decoder_.InputGates(tape, tape.Use(*devices_));  // [D + 1, 4 hidden]
  std::optional<Var> state_gates;
  if (aligned_ != nullptr) state_gates = MatMul(tape, encoded.states, tape.Use(*aligned_));
  LstmState state{encoded.hidden, encoded.cell};

  Decoded decoded;
  decoded.devices.resize(rows.size());
  std::vector<Var> log_probabilities, entropies;
  std::vector<int> row_of_step;  // the rows of log_probabilities and entropies
  // The rows whose sequence has not ended, and the device of the previous step.
  std::vector<int> active(rows.size()), chosen(rows.size(), num_devices_);
  std::iota(active.begin(), active.end(), 0);
  std::vector<RowRange> ranges = encoded.ranges;
  for (int t = 0;; ++t) {
    std::vector<int> going_on;
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (ranges[i].count > t) going_on.push_back(static_cast<int>(i));
    }
    if (going_on.empty()) break;
    if (going_on.size() < active.size()) {
      state = {Gather(tape, state.hidden, going_on), Gather(tape, state.cell, going_on)};
      for (std::size_t i = 0; i < going_on.size(); ++i) {
        active[i] = active[going_on[i]];
        chosen[i] = chosen[going_on[i]];
        ranges[i] = ranges[going_on[i]];
      }
      active.resize(going_on.size());
      chosen.resize(going_on.size());
      ranges.resize(going_on.size());
    }
    const auto num_active = static_cast<int>(active.size());
    Matrix allowed(num_active, num_devices_);
    std::vector<int> state_of_row(num_active);
    int num_drawn = 0;
    for (int i = 0; i < num_active; ++i) {
      allowed.row(i) = rows[active[i]].groups->allowed.row(t);
      state_of_row[i] = ranges[i].begin + t;
      num_drawn += rows[active[i]].devices == nullptr;
    }
    Var gates = Gather(tape, device_gates, chosen);
    if (state_gates) gates = Add(tape, gates, Gather(tape, *state_gates, state_of_row));
    state = decoder_.StepFromGates(tape, gates, state);
    const Var query = query_(tape, state.hidden);
    const Var weights = AdditiveAttention(tape, query, keys, tape.Use(*attention_), ranges);
    const Var context = WeightedRowSums(tape, weights, encoded.states, ranges);
    Var logits = output_(tape, ConcatCols(tape, {state.hidden, context}));
    logits = Tanh(tape, Scale(tape, logits, static_cast<float>(1 / config_.temperature)));
    logits = Scale(tape, logits, static_cast<float>(config_.tanh_constant));
    logits = WithNoise(tape, logits, noise, rng, num_drawn);
    const Var log_softmax = LogSoftmax(tape, logits, &allowed);
    const auto to_draw = tape.value(log_softmax).topRows(num_drawn);
    std::vector<int> drawn;
    if (draws == nullptr) {
      drawn = SampleRows(to_draw, rng);
    } else {
      std::vector<int> parts(num_drawn);
      for (int i = 0; i < num_drawn; ++i) parts[i] = (*rows[active[i]].parts)[t];
      drawn = draws->Draw(active, parts, to_draw);
    }
    for (int i = 0; i < num_active; ++i) {
      const std::vector<int>* given = rows[active[i]].devices;
      chosen[i] = given == nullptr ? drawn[i] : (*given)[t];
      decoded.devices[active[i]].push_back(chosen[i]);
    }
    log_probabilities.push_back(Pick(tape, log_softmax, chosen));
    entropies.push_back(Entropy(tape, log_softmax));
    row_of_step.insert(row_of_step.end(), active.begin(), active.end());
  }
  const auto sums = [&](const std::vector<Var>& steps) {
    return SegmentSum(
        tape, ConcatRows(tape, steps), row_of_step, static_cast<int>(decoded.devices.size()));
  };
  decoded.log_probability = sums(log_probabilities);
  decoded.entropy = sums(entropies);
  return decoded;
}

Var WithNoise(Tape& tape, Var logits, double relative, Rng& rng, int rows) {
  if (relative == 0) return logits;
  const Matrix& values = tape.value(logits);
  const double mean_square =
      values.cast<double>().squaredNorm() / static_cast<double>(values.size());
  const double deviation = relative * std::sqrt(mean_square);
  boost::random::normal_distribution<double> normal(0, 1);
  Matrix noise = Matrix::Zero(values.rows(), values.cols());
  for (int row = 0; row < rows; ++row) {
    for (float& x : noise.row(row)) x = static_cast<float>(deviation * normal(rng));
  }
  return Add(tape, logits, tape.Constant(std::move(noise)));
}

}  // namespace emplace
