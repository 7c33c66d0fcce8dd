#pragma once

// The policy of NeurIPS 2019 [V]. Its size depends on the features alone, not on the graph.
//
//   e0_v = FNN(F-d-d-d)(x_v)                                        d = width; 0: d = F [V]
//   e_v <- e0_v + has_parent_v relu(g(sum_{u parent of v} relu(f(e_u)))),  `rounds` times from e0,
//          f, g = FNN(d-d-d); the same with children and their own f, g: from both ends at once
//   h_v  = [e_v of the parents' way; e_v of the children's way]     2 d
//   p_S  = relu(g_S(sum_{u in S} relu(f_S(h_u)))), f_S, g_S = FNN(2d-2d-2d),
//          S = all transitive ancestors, descendants, and the parallel groups of the current one v
//   logits = FNN(8d-16d-8d-D)([p_ancestors; p_descendants; p_parallel; h_v])
//
// With aggregation `mean` [ours] sums over parents, children and pools are means: sums grow with
// the graph and from round to round, and a policy whose first logits are large explores nothing and
// fits no graph of another size. `logit_scale` s [ours] multiplies the last layer's first weights:
// near 0 every device is about equally likely at first. `stay` b [ours] is added to the logit of
// the device that the current group is on: with one of D devices it is at first exp(b) times as
// likely as any other, so that an episode changes a few groups instead of nearly all.
//
// FNN: linear layers, Glorot, zero bias, ReLU between, none after the last. With devices `scored`
// [ours] the last network is FNN((8d + 6)-16d-8d-1) of that vector and the features of one device,
// applied to each device: the number of devices is then not fixed.
//
// Batches: states of one problem go through as one batch. States differ in features only, so each
// linear layer is one product over the rows of all states, and each round of messages one sparse
// product whose columns are the states' (framework/learn/ops.h: SparseMatMul with a block). An
// episode is drawn state by state, since each depends on the choice before; its gradient is taken
// over batches of many states.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <memory>
#include <string>
#include <vector>

#include "agents/placeto/placeto_features.h"
#include "framework/learn/layers.h"

namespace emplace {

struct PlacetoNetworkConfig {
  PlacetoFeaturesConfig features;
  int width = 0;
  int rounds = 8;
  std::string aggregation = "mean";
  double logit_scale = 0.1;
  double stay = 0;
  bool mean() const { return aggregation == "mean"; }
  /// Visits its fields into the agent's settings (no map of its own).
  void Visit(FieldVisitor& v);
};

class PlacetoNetwork {
 public:
  /// @param num_devices  of every problem it will see; not read if devices are scored
  /// @param parameters  outlives this; the network adds its own to it
  /// @throws SettingError
  PlacetoNetwork(const PlacetoNetworkConfig& config,
                 int num_devices,
                 ParameterSet& parameters,
                 Rng& rng);

  /// In the place of the setting.
  void set_stay(double stay) { stay_ = static_cast<float>(stay); }
  /// @return [num_states, num_devices]; -infinity where the current group may not run
  Var LogProbabilities(Tape& tape, const PlacetoGraph& graph, const PlacetoBatch& batch) const;

 private:
  using Layers = std::vector<Linear>;
  struct Messages {
    Layers before, after;  // f, g
  };
  /// relu between the layers, and after the last if `relu`.
  static Var Apply(Tape& tape, const Layers& layers, Var x, bool relu = false);
  Var PassMessages(Tape& tape,
                   const Messages& messages,
                   const std::shared_ptr<const SparseMatrix>& neighbors,
                   const Matrix& has_neighbor,
                   int num_states,
                   Var start) const;
  Var Summarize(Tape& tape,
                Pool pool,
                const PlacetoGraph& graph,
                const PlacetoBatch& batch,
                Var states) const;
  Var ScoreDevices(Tape& tape, const PlacetoBatch& batch, Var summary) const;

  int rounds_;
  bool one_hot_, mean_;
  float stay_;
  Layers embed_;
  Messages parents_, children_;
  Messages pools_[kNumPools];
  Layers head_;
};

}  // namespace emplace
