#pragma once

// The policy: a network that computes how likely each device is for each group in a placement
// better than the given one. It has a vector h of `width` numbers for each pair (g, d) of a group
// and a device:
//
//   h     = relu(W z + b)                     z = clamp((features - mean) scale, -8, 8)
//   h[g, d] += relu(A [h[g, d]; sum_e s_ge h[e, d]; sum_l s_gl h[l, d]]
//                   + G [mean over devices of h[g, .]; h[g, x_g]]
//                   + D [mean over groups of h[., d]; sum of w_g h[g, d] over the groups on d])
//                                             `rounds` times, each round with its own matrices
//   logit = v h[g, d] + stay [d = x_g]
//
// e and l are the neighbours of g that come earlier and later in the order of the groups, s their
// shares of its messages. x_g is the device of g, and w_g is its share of the work times the number
// of devices (pair_features.h). No matrix depends on the graph or the cluster; a permutation of the
// devices permutes the logits.
//
// References: layers that are equivariant under permutations of rows and of columns: J. Hartford et
// al., Deep Models of Interactions Across Sets, ICML 2018 (here the rows form a graph). Policies
// over devices with features instead of numbers: Y. Zhou et al., GO, NeurIPS 2020 (one-shot, all
// groups at once). The rest of the network is our own.

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
  /// Draws random weights; features are not scaled.
  PairNetwork(int width, int rounds, Rng& rng);
  /// Reads the embedded policy ("default") or a file. Width and rounds are those of the policy.
  /// @throws SettingError for key "policy" if the file cannot be read or is not a policy of
  ///   `graph_policy`
  static std::shared_ptr<PairNetwork> Read(const std::string& policy);
  /// Returns an independent network with the same weights and scales.
  std::shared_ptr<PairNetwork> Copy() const;

  /// Sets mean and scale from the rows of allowed pairs. @param features  [n, kCount], n > 0
  void Normalize(const Matrix& features);
  void SetScale(const PairNetwork& from);
  /// Computes the logits [num_groups, num_devices]; nothing is masked.
  Var Logits(Tape& tape, const PairFeatures& at) const;

  ParameterSet& parameters() { return parameters_; }
  void SavePolicy(std::ostream& out);
  /// Visits mean and scale. The trainer or agent saves the parameters.
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
