#pragma once

// The policy of Placeto (NeurIPS 2019). Its size depends on the features alone, not on the graph.
//
//   e0_v = FNN(F-d-d-d)(x_v)                                        d = width; 0: d = F
//   e_v <- e0_v + has_parent_v relu(g(sum_{u parent of v} relu(f(e_u)))),  `rounds` times from e0,
//          f, g = FNN(d-d-d); the same with children and their own f, g: from both ends at once
//   h_v  = [e_v of the parents' way; e_v of the children's way]     2 d
//   p_S  = relu(g_S(sum_{u in S} relu(f_S(h_u)))), f_S, g_S = FNN(2d-2d-2d),
//          S = all transitive ancestors, descendants, and the parallel groups of the current one v
//   logits = FNN(8d-16d-8d-D)([p_ancestors; p_descendants; p_parallel; h_v])
//
// Three settings are not in the paper:
// - aggregation `mean` replaces the sums over parents, children and pools by means. Sums grow with
//   the graph and from round to round; a policy with large first logits does not explore and does
//   not fit a graph of another size.
// - `logit_scale` s multiplies the last layer's first weights. Near 0 all devices are about equally
//   likely at first.
// - `stay` b is added to the logit of the device that the current group is on. That device is at
//   first exp(b) times as likely as any other, so that an episode changes a few groups instead of
//   nearly all.
//
// FNN: linear layers, Glorot initialisation, bias 0, ReLU between the layers, none after the last.
// With devices `scored`, which is not in the paper, the last network is FNN((8d + 6)-16d-8d-1). It
// is applied to each device, on the vector above and the features of the device, so the number of
// devices is not fixed.
//
// States of one problem pass through the network as one batch. They differ in features only, so
// each linear layer is one product over the rows of all states, and each round of messages is one
// sparse product with columns for all states (framework/learn/ops.h: SparseMatMul with a block). An
// episode is drawn state by state, since each state depends on the previous choice; its gradient is
// computed over batches of many states.

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
  /// Visits the fields into the agent's own settings, without a nested map.
  void Visit(FieldVisitor& v);
};

class PlacetoNetwork {
 public:
  /// @param num_devices  of every problem given to the network; not read if devices are scored
  /// @param parameters  outlives this; the network adds its own to it
  /// @throws SettingError
  PlacetoNetwork(const PlacetoNetworkConfig& config,
                 int num_devices,
                 ParameterSet& parameters,
                 Rng& rng);

  /// Replaces the value of the setting `stay`.
  void set_stay(double stay) { stay_ = static_cast<float>(stay); }
  /// @return [num_states, num_devices]; -infinity where the current group may not run
  Var LogProbabilities(Tape& tape, const PlacetoGraph& graph, const PlacetoBatch& batch) const;

 private:
  using Layers = std::vector<Linear>;
  struct Messages {
    Layers before, after;  // f, g
  };
  /// Applies ReLU between the layers, and after the last one if `relu`.
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
