#include "agents/learned_local_search/move_scorer.h"

#include <cmath>
#include <sstream>
#include <string_view>

#include "agents/shared/move_features.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace internal {
extern const std::string_view kDefaultPolicy;  // default_policy.txt
}

namespace {

constexpr float kFarthest = 8;  // distance of a feature from its mean, in deviations
constexpr float kLeastDeviation = 1e-3F;

}  // namespace

MoveScorer::MoveScorer(Rng& rng)
    : first_(parameters_, "first", MoveFeatures::kCount, kHidden0, rng),
      second_(parameters_, "second", kHidden0, kHidden1, rng),
      last_(parameters_, "last", kHidden1, 1, rng),
      mean_(Matrix::Zero(1, MoveFeatures::kCount)),
      scale_(Matrix::Ones(1, MoveFeatures::kCount)) {
}

std::shared_ptr<const MoveScorer> MoveScorer::Read(const std::string& policy) {
  Rng rng(0);  // all weights are read
  auto scorer = std::make_shared<MoveScorer>(rng);
  try {
    std::istringstream in(policy == "default" ? std::string(internal::kDefaultPolicy)
                                              : ReadFile(policy));
    StateVisitor v(in);
    scorer->VisitPolicy(v);
  } catch (const InputError& error) {
    throw SettingError("policy", error.what());
  }
  return scorer;
}

void MoveScorer::Normalize(const Matrix& features) {
  mean_ = features.colwise().mean();
  const Matrix far = features.rowwise() - mean_.row(0);
  const Matrix variance = far.array().square().colwise().mean();
  scale_ = (variance.array().sqrt() + kLeastDeviation).inverse();
}

Var MoveScorer::Score(Tape& tape, const Matrix& features) const {
  const Matrix far = features.rowwise() - mean_.row(0);
  Matrix z = far.array().rowwise() * scale_.row(0).array();
  z = z.cwiseMax(-kFarthest).cwiseMin(kFarthest);
  const Var hidden = first_.WithRelu(tape, tape.Constant(std::move(z)));
  return last_(tape, second_.WithRelu(tape, hidden));
}

std::vector<float> MoveScorer::Score(const Matrix& features) const {
  Tape tape(/*differentiable=*/false);
  const Matrix& score = tape.value(Score(tape, features));
  return {score.data(), score.data() + score.size()};
}

void MoveScorer::SavePolicy(std::ostream& out) {
  StateVisitor v(out);
  VisitPolicy(v);
}

void MoveScorer::VisitPolicy(StateVisitor& v) {
  v.Begin("learned_local_search");
  VisitParameters(v, parameters_);
  VisitScale(v);
}

void MoveScorer::VisitScale(StateVisitor& v) {
  v.Matrix("the features' mean", mean_);
  v.Matrix("the features' scale", scale_);
}

}  // namespace emplace
