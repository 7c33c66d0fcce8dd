#pragma once

// A small network that scores changes of a placement by their features
// (agents/shared/move_features.h). A higher score means a more likely and larger gain.
//
//   score = w2 relu(W1 relu(W0 z + b0) + b1) + b2,     z = clamp((features - mean) scale, -8, 8)
//
// Mean and scale are those of the first training samples.

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/learn/layers.h"
#include "framework/learn/parameter.h"
#include "framework/learn/tape.h"
#include "framework/search/state.h"

namespace emplace {

class MoveScorer {
 public:
  static constexpr int kHidden0 = 32, kHidden1 = 16;

  /// Draws random weights; features are not scaled.
  explicit MoveScorer(Rng& rng);
  /// Reads the embedded policy ("default") or a file.
  /// @throws SettingError for key "policy" if the file cannot be read or is not a policy of
  ///   `learned_local_search`
  static std::shared_ptr<const MoveScorer> Read(const std::string& policy);

  /// Sets mean and scale from samples. @param features  [n, MoveFeatures::kCount], n > 0
  void Normalize(const Matrix& features);
  /// Computes the scores [n, 1] of features [n, MoveFeatures::kCount].
  Var Score(Tape& tape, const Matrix& features) const;
  /// Computes the same scores [n] without a tape.
  std::vector<float> Score(const Matrix& features) const;

  ParameterSet& parameters() { return parameters_; }
  void SavePolicy(std::ostream& out);
  /// Visits mean and scale. The trainer saves the parameters.
  void VisitScale(StateVisitor& v);

 private:
  void VisitPolicy(StateVisitor& v);

  ParameterSet parameters_;
  Linear first_, second_, last_;
  Matrix mean_, scale_;  // [1, MoveFeatures::kCount]
};

}  // namespace emplace
