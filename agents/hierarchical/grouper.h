#pragma once

// The grouper draws a group for each unit, independently of the other units (ICLR 2018).
//
//   x = [mean of the type vectors of the unit's ops + vector of its part, fixed input]
//   logits = gain * relu(x W1 + b1) W2 + b2,    p(group | unit) = softmax(logits)
//
// The paper has a hidden width of 64 and type vectors of width 20. It names no non-linearity; we
// use a ReLU, since two linear layers without one are a single linear layer. `gain` > 1, which is
// not in the paper, makes the first groupings decided instead of uniform: units with similar inputs
// begin in the same group, and an optimiser that moves every weight by about the learning rate
// moves the logits `gain` times as fast.
//
// With `partition_steps`, not in the paper either, x has a learned vector for each part of a
// partition of the graph, and the grouper first learns to draw that partition. An untrained grouper
// scatters the ops of a large graph over the groups, so that most tensors cross devices unless all
// groups are on one device. The placer then learns to use one device, before the grouper has
// learned anything from step times.

#include <memory>
#include <vector>

#include "agents/hierarchical/hierarchical_features.h"
#include "framework/learn/layers.h"

namespace emplace {

struct GrouperConfig {
  int hidden = 64;
  int type_embedding = 20;
  bool standardize = true;
  double gain = 4;
  double entropy = 1;
  int partition_steps = 400;
  FeatureConfig features;
  void Visit(FieldVisitor& v) {
    v.Field("hidden", hidden, Between(1, 1 << 16), "width of the hidden layer");
    v.Field("type_embedding", type_embedding, Between(1, 1 << 16), "width of an op type's vector");
    v.Field("standardize", standardize, "inputs with mean 0 and variance 1 over the units");
    v.Field("gain",
            gain,
            Between(1e-6, 1e6),
            "factor of the logits; above 1, the first groupings are less random");
    v.Field(
        "entropy", entropy, AtLeast(0), "weight of the grouper's entropy relative to the placer's");
    v.Field("partition_steps",
            partition_steps,
            AtLeast(0),
            "largest number of steps in which the grouper first learns to draw a partition of the "
            "graph; 0: it begins untrained");
    v.Group("features", "inputs in addition to the published ones", [this](FieldVisitor& g) {
      features.Visit(g);
    });
  }
};

class Grouper {
 public:
  /// Adds "grouper.*" to `parameters`.
  /// @param units  must outlive the grouper; with as many parts as groups if partition_steps > 0
  Grouper(const GrouperConfig& config,
          const UnitFeatures& units,
          int num_groups,
          ParameterSet& parameters,
          Rng& rng);

  /// The grouper must stay alive until the tape is cleared. @return [num_units, num_groups]
  Var Logits(Tape& tape) const;
  /// Returns the mean log-probability of UnitFeatures::part, [1, 1]. @pre partition_steps > 0
  Var MeanLogProbabilityOfParts(Tape& tape) const;

 private:
  GrouperConfig config_;
  const UnitFeatures& units_;
  std::shared_ptr<const SparseMatrix> weights_;  // [num_units, kinds + parts]
  Matrix input_;                                 // [num_units, F]
  Parameter* types_;                             // [kinds + parts, type_embedding]
  Parameter* hidden_;                            // [type_embedding + F, hidden]
  Parameter* hidden_bias_;                       // [1, hidden]
  Linear output_;
};

}  // namespace emplace
