#pragma once

// The policy: from a placement to how likely each device is for each group in a better one. A
// vector h of `width` numbers per pair (g, d) of a group and a device:
//
//   h     = relu(W z + b)                     z = clamp((features - mean) scale, -8, 8)
//   h[g, d] += relu(A [h[g, d]; sum_e s_ge h[e, d]; sum_l s_gl h[l, d]]
//                   + G [mean over devices of h[g, .]; h[g, x_g]]
//                   + D [mean over groups of h[., d]; sum of w_g h[g, d] over the groups on d])
//                                             `rounds` times, matrices of its own in each
//   logit = v h[g, d] + stay [d = x_g]
//
// e, l are the neighbours of g before and behind it, s their shares in its messages, x_g where g
// is, w_g its share of the work times the number of devices (pair_features.h). No matrix depends on
// the graph or the cluster; permuted devices have permuted logits.
//
// Layers that are equivariant under permutations of rows and of columns: J. Hartford et al., Deep
// Models of Interactions Across Sets, ICML 2018 [R]; here rows have a graph. Policies over devices
// with features instead of numbers: Y. Zhou et al., GO, NeurIPS 2020 [R] (one-shot, all groups at
// once). Marks [R], [ours]: how sure we are of what a paper says (agents/README.md); what is not
// marked is ours.

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "agents/graph_policy/pair_features.h"
#include "framework/base/random.h"
#include "framework/learn/layers.h"
#include "framework/learn/parameter.h"
#include "framework/learn/tape.h"
#include "framework/search/state.h"

namespace emplace {

class PairNetwork {
 public:
  /// Random weights; features as they are.
  PairNetwork(int width, int rounds, Rng& rng);
  /// A policy of this program's own ("default") or of a file, with width and rounds of its own.
  /// @throws SettingError for key "policy" if the file cannot be read or is no policy of
  ///   `graph_policy`
  static std::shared_ptr<PairNetwork> Read(const std::string& policy);
  /// The same weights and scales, on their own.
  std::shared_ptr<PairNetwork> Copy() const;

  /// Takes mean and scale from the rows of allowed pairs. @param features  [n, kCount], n > 0
  void Normalize(const Matrix& features);
  void SetScale(const PairNetwork& from);
  /// @return [num_groups, num_devices] log-probabilities before the softmax; nothing is masked
  Var Logits(Tape& tape, const PairFeatures& at) const;

  ParameterSet& parameters() { return parameters_; }
  void SavePolicy(std::ostream& out);
  /// Mean and scale; the parameters are saved by who trains them.
  void VisitScale(StateVisitor& v);

 private:
  struct Round {
    Linear pair, group, device;
  };

  int width_;
  ParameterSet parameters_;
  Linear first_;
  std::vector<Round> rounds_;
  Linear last_;
  Parameter* stay_;      // [1, 1]
  Matrix mean_, scale_;  // [1, PairFeatures::kCount]
};

}  // namespace emplace
