#pragma once

// A small network that judges changes of a placement by their features (move_features.h): the
// higher its score, the likelier and the larger the gain.
//
//   score = w2 relu(W1 relu(W0 z + b0) + b1) + b2,     z = clamp((features - mean) scale, -8, 8)
//
// Mean and scale are those of the first samples that it is trained on.

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

  /// Random weights; features as they are.
  explicit MoveScorer(Rng& rng);
  /// A policy of this program's own ("default") or of a file.
  /// @throws SettingError for key "policy" if the file cannot be read or is no policy of `learned`
  static std::shared_ptr<const MoveScorer> Read(const std::string& policy);

  /// Takes mean and scale from samples. @param features  [n, MoveFeatures::kCount], n > 0
  void Normalize(const Matrix& features);
  /// @param features  [n, MoveFeatures::kCount]    @return [n, 1]
  Var Score(Tape& tape, const Matrix& features) const;
  /// The same without a tape. @return [n]
  std::vector<float> Score(const Matrix& features) const;

  ParameterSet& parameters() { return parameters_; }
  void SavePolicy(std::ostream& out);
  /// Mean and scale; the parameters are saved by who trains them.
  void VisitScale(StateVisitor& v);

 private:
  void VisitPolicy(StateVisitor& v);

  ParameterSet parameters_;
  Linear first_, second_, last_;
  Matrix mean_, scale_;  // [1, MoveFeatures::kCount]
};

}  // namespace emplace
