#include "agents/shared/policy_gradient/ppo.h"

#include <algorithm>

#include "framework/config/setting_error.h"
#include "framework/learn/ops.h"

namespace emplace {
namespace {

constexpr double kMargin = 1.5;    // factor around the target
constexpr double kFarthest = 1e6;  // factor from the initial weight, in both directions

}  // namespace

void PpoConfig::Visit(FieldVisitor& v) {
  v.Field("penalty",
          penalty,
          "penalty on the distance from the policy that drew the batch: kl or clip");
  v.Field("epochs", epochs, Between(1, 1e6), "steps of descent on one batch");
  v.Field("clip", clip, AtLeast(0), "with clip: largest change of a ratio that is rewarded");
  v.Field("kl_target", kl_target, AtLeast(0), "with kl: target divergence per batch [nats]");
  v.Field("kl_weight", kl_weight, Between(0, 1e6), "with kl: initial weight of the divergence");
}

Ppo::Ppo(const PpoConfig& config, const std::string& key)
    : config_(config), kl_weight_(config.kl_weight) {
  RequireChoice(key + ".penalty", config.penalty, {"clip", "kl"});
}

Var Ppo::Loss(Tape& tape,
              Var log_probability,
              const Matrix& old_log_probability,
              const Matrix& advantages,
              Var kl) const {
  const Var change = Subtract(tape, log_probability, tape.Constant(old_log_probability));
  const Var ratio = Exp(tape, change);
  const Var advantage = tape.Constant(advantages);
  const Var weighted = Multiply(tape, ratio, advantage);
  if (needs_kl()) {
    return Add(tape, MeanAll(tape, weighted), Scale(tape, kl, static_cast<float>(kl_weight_)));
  }
  const auto clip = static_cast<float>(config_.clip);
  const Var clipped = Multiply(tape, Clamp(tape, ratio, 1 - clip, 1 + clip), advantage);
  return MeanAll(tape, Maximum(tape, weighted, clipped));
}

void Ppo::Observe(double kl) {
  if (!needs_kl()) return;
  if (kl > config_.kl_target * kMargin) kl_weight_ *= 2;
  if (kl < config_.kl_target / kMargin) kl_weight_ /= 2;
  kl_weight_ = std::clamp(kl_weight_, config_.kl_weight / kFarthest, config_.kl_weight * kFarthest);
}

}  // namespace emplace
