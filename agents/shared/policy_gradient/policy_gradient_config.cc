#include "agents/shared/policy_gradient/policy_gradient_config.h"

#include "framework/config/setting_error.h"

namespace emplace {

void StartConfig::Visit(FieldVisitor& v) {
  v.Field(
      "start",
      names,
      "initial placements; the policy is first pulled towards the best one; nothing: untrained");
  v.Field("start_probability",
          probability,
          Between(0, 1),
          "geometric mean of the probability per decision up to which the policy is pulled to the "
          "start");
  v.Field("start_steps", steps, AtLeast(0), "largest number of steps of that descent");
  v.Field("fresh_share",
          fresh_share,
          Between(0, 1),
          "share of the budget of evaluations after which a restart begins at the best placement");
  v.Field("settle_share",
          settle_share,
          Between(0, 1),
          "last share of the budget of evaluations, in which the policy is pulled to the best "
          "placement and learns on without entropy bonus and restarts");
}

void PolicyGradientConfig::VisitEntropyControl(FieldVisitor& v) {
  v.Group("entropy_control",
          "adapts the weight of the entropy bonus so that the entropy follows a schedule",
          [this](FieldVisitor& g) { entropy_control.Visit(g); });
}

void PolicyGradientConfig::Visit(FieldVisitor& v) {
  v.Field("samples", samples, Between(1, 1e6), "placements per update");
  v.Group("reward", "cost of a placement", [this](FieldVisitor& g) { reward.Visit(g); });
  v.Group("baseline", "value that is subtracted from the reward", [this](FieldVisitor& g) {
    baseline.Visit(g);
  });
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the batch");
  v.Field("per_decision",
          per_decision,
          "divide log-probabilities and entropies by the number of decisions of a placement");
  v.Field("valid_only_after",
          valid_only_after,
          AtLeast(0),
          "updates after which only placements that fit count; 0: all always count");
  v.Field("entropy_weight", entropy_weight, AtLeast(0), "weight of the entropy bonus");
  v.Field("entropy_updates",
          entropy_updates,
          AtLeast(0),
          "updates over which that weight falls linearly to 0; 0: constant");
  v.Field(
      "imitation_weight", imitation_weight, AtLeast(0), "pull towards the best placement so far");
  v.Field("patience",
          patience,
          AtLeast(0),
          "updates without a better placement before a restart; 0: never restarts");
  v.Group("optimizer", "gradient descent", [this](FieldVisitor& g) { optimizer.Visit(g); });
}

void PolicyGradientConfig::Validate() const {
  if (samples == 1 && baseline.method == "leave_one_out") {
    throw SettingError("samples", "expected at least 2 with the baseline leave_one_out, got 1");
  }
}

}  // namespace emplace
