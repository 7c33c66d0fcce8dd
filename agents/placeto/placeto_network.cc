#include "agents/placeto/placeto_network.h"

#include <algorithm>

#include "framework/config/setting_error.h"

namespace emplace {
namespace {

std::vector<Linear> MakeLayers(ParameterSet& parameters,
                               const std::string& name,
                               const std::vector<int>& widths,
                               Rng& rng) {
  std::vector<Linear> layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    layers.emplace_back(parameters, name + "." + std::to_string(i), widths[i], widths[i + 1], rng);
  }
  return layers;
}

}  // namespace

void PlacetoNetworkConfig::Visit(FieldVisitor& v) {
  v.Group("features", "inputs of the network", [this](FieldVisitor& g) { features.Visit(g); });
  v.Field("width", width, Between(0, 4096), "width of a group's vector; 0: that of its features");
  v.Field("rounds", rounds, Between(0, 1000), "rounds of message passing in each direction");
  v.Field("aggregation", aggregation, "aggregation of messages and pools: sum or mean");
  v.Field("logit_scale",
          logit_scale,
          Between(0, 1e6),
          "factor of the initial weights of the last layer");
  v.Field("stay",
          stay,
          Between(0, 1e6),
          "value added to the logit of the current group's present device");
}

PlacetoNetwork::PlacetoNetwork(const PlacetoNetworkConfig& config,
                               int num_devices,
                               ParameterSet& parameters,
                               Rng& rng)
    : rounds_(config.rounds),
      one_hot_(config.features.one_hot()),
      mean_(config.mean()),
      stay_(static_cast<float>(config.stay)) {
  RequireChoice("aggregation", config.aggregation, {"mean", "sum"});
  const int in = PlacetoFeatures::group_width(config.features, num_devices);
  const int d = config.width > 0 ? config.width : in;
  embed_ = MakeLayers(parameters, "embed", {in, d, d, d}, rng);
  const auto make = [&](const std::string& name, int width) {
    return Messages{MakeLayers(parameters, name + ".before", {width, width, width}, rng),
                    MakeLayers(parameters, name + ".after", {width, width, width}, rng)};
  };
  parents_ = make("parents", d);
  children_ = make("children", d);
  const char* names[kNumPools] = {"ancestors", "descendants", "parallel"};
  for (int pool = 0; pool < kNumPools; ++pool) pools_[pool] = make(names[pool], 2 * d);
  const int extra = PlacetoFeatures::device_width(config.features);
  head_ = MakeLayers(
      parameters, "head", {8 * d + extra, 16 * d, 8 * d, one_hot_ ? num_devices : 1}, rng);
  // The last layer: weights, then bias.
  (parameters.all().end() - 2)->value *= static_cast<float>(config.logit_scale);
}

Var PlacetoNetwork::Apply(Tape& tape, const Layers& layers, Var x, bool relu) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_last = i + 1 == layers.size();
    x = relu || !is_last ? layers[i].WithRelu(tape, x) : layers[i](tape, x);
  }
  return x;
}

Var PlacetoNetwork::PassMessages(Tape& tape,
                                 const Messages& messages,
                                 const std::shared_ptr<const SparseMatrix>& neighbors,
                                 const Matrix& has_neighbor,
                                 int num_states,
                                 Var start) const {
  const int per_group = num_states * tape.cols(start);
  Matrix mask(tape.rows(start), tape.cols(start));
  mask.reshaped<Eigen::RowMajor>(has_neighbor.rows(), per_group).colwise() = has_neighbor.col(0);
  const Var has = tape.Constant(std::move(mask));
  Var state = start;
  for (int round = 0; round < rounds_; ++round) {
    const Var sent = Apply(tape, messages.before, state, true);
    const Var heard = SparseMatMul(tape, neighbors, sent, num_states);
    const Var taken = Apply(tape, messages.after, heard, true);
    state = MultiplyAdd(tape, start, taken, has);
  }
  return state;
}

Var PlacetoNetwork::Summarize(Tape& tape,
                              Pool pool,
                              const PlacetoGraph& graph,
                              const PlacetoBatch& batch,
                              Var states) const {
  std::vector<int> rows, owner;
  Matrix weight(batch.num_states(), 1);
  for (int s = 0; s < batch.num_states(); ++s) {
    const std::vector<int>& groups = graph.members(pool, batch.current[s]);
    weight(s, 0) = 1 / std::max(1.0F, static_cast<float>(groups.size()));
    for (int group : groups) {
      rows.push_back(group * batch.num_states() + s);
      owner.push_back(s);
    }
  }
  const Messages& messages = pools_[static_cast<int>(pool)];
  const Var members = Gather(tape, states, std::move(rows));
  const Var sent = Apply(tape, messages.before, members, true);
  Var sum = SegmentSum(tape, sent, std::move(owner), batch.num_states());
  if (mean_) sum = Multiply(tape, sum, tape.Constant(std::move(weight)));
  return Apply(tape, messages.after, sum, true);
}

Var PlacetoNetwork::ScoreDevices(Tape& tape, const PlacetoBatch& batch, Var summary) const {
  if (one_hot_) return Apply(tape, head_, summary);
  const int count = static_cast<int>(batch.allowed.cols());
  std::vector<int> state_of_row;
  for (int s = 0; s < batch.num_states(); ++s) state_of_row.insert(state_of_row.end(), count, s);
  const Var input = ConcatCols(
      tape, {Gather(tape, summary, std::move(state_of_row)), tape.ConstantView(batch.devices)});
  return Reshape(tape, Apply(tape, head_, input), batch.num_states(), count);
}

Var PlacetoNetwork::LogProbabilities(Tape& tape,
                                     const PlacetoGraph& graph,
                                     const PlacetoBatch& batch) const {
  const int count = batch.num_states();
  const Var start = Apply(tape, embed_, tape.ConstantView(batch.groups));
  const Var states = ConcatCols(
      tape,
      {PassMessages(tape, parents_, graph.parents(), graph.has_parent(), count, start),
       PassMessages(tape, children_, graph.children(), graph.has_child(), count, start)});
  std::vector<int> current;
  for (int s = 0; s < count; ++s) current.push_back(batch.current[s] * count + s);
  const Var summary = ConcatCols(tape,
                                 {Summarize(tape, Pool::kAncestors, graph, batch, states),
                                  Summarize(tape, Pool::kDescendants, graph, batch, states),
                                  Summarize(tape, Pool::kParallel, graph, batch, states),
                                  Gather(tape, states, std::move(current))});
  const Var scores = ScoreDevices(tape, batch, summary);
  const Var logits = Add(tape, scores, tape.Constant(stay_ * batch.present));
  return LogSoftmax(tape, logits, &batch.allowed);
}

}  // namespace emplace
