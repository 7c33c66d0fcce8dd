#pragma once

// The grouper draws a group for each unit, independently of the other units (ICLR 2018).
//
//   x = [mean of the type vectors of the unit's ops, fixed input]      (hierarchical_features.h)
//   logits = gain * relu(x W1 + b1) W2 + b2,    p(group | unit) = softmax(logits)
//
// The paper has a hidden width of 64 and type vectors of width 20. It names no non-linearity; we
// use a ReLU, since two linear layers without one are a single linear layer. `gain` > 1, which is
// not in the paper, makes the first groupings decided instead of uniform: units with similar inputs
// begin in the same group, and an optimiser that moves every weight by about the learning rate
// moves the logits `gain` times as fast.

#include <memory>

#include "agents/hierarchical/hierarchical_features.h"
#include "framework/learn/layers.h"

namespace emplace {

struct GrouperConfig {
  int hidden = 64;
  int type_embedding = 20;
  bool standardize = true;
  double gain = 4;
  double entropy = 1;
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
    v.Group("features", "inputs in addition to the published ones", [this](FieldVisitor& g) {
      features.Visit(g);
    });
  }
};

class Grouper {
 public:
  /// Adds "grouper.*" to `parameters`.
  Grouper(const GrouperConfig& config,
          const UnitFeatures& units,
          int num_groups,
          ParameterSet& parameters,
          Rng& rng);

  /// The grouper must stay alive until the tape is cleared. @return [num_units, num_groups]
  Var Logits(Tape& tape) const;

 private:
  GrouperConfig config_;
  std::shared_ptr<const SparseMatrix> kind_shares_;  // [num_units, kinds]
  Matrix input_;                                     // [num_units, F]
  Parameter* types_;                                 // [kinds, type_embedding]
  Parameter* hidden_;                                // [type_embedding + F, hidden]
  Parameter* hidden_bias_;                           // [1, hidden]
  Linear output_;
};

}  // namespace emplace
