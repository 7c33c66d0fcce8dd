#include "agents/policy_gradient/policy_gradient_config.h"

#include <limits>

#include "framework/config/setting_error.h"

namespace emplace {

void StartConfig::Visit(FieldVisitor& v) {
  v.Field("start",
          names,
          "placements of which the best is evaluated first and pulled to; nothing: untrained");
  v.Field("start_probability",
          probability,
          "probability per decision, geometric mean, that the policy is pulled to");
  v.Field("start_steps", steps, "steps of that descent at most");
  v.Field("fresh_share",
          fresh_share,
          "share of the budget of evaluations after which a restart begins at the best placement");
}

void PolicyGradientConfig::VisitEntropyControl(FieldVisitor& v) {
  v.Group("entropy_control",
          "the weight of the entropy bonus follows a planned way down",
          [this](FieldVisitor& g) { entropy_control.Visit(g); });
}

void PolicyGradientConfig::Visit(FieldVisitor& v) {
  v.Field("samples", samples, "placements per update");
  v.Group("reward", "what a placement costs", [this](FieldVisitor& g) { reward.Visit(g); });
  v.Group("baseline", "what is subtracted from it", [this](FieldVisitor& g) { baseline.Visit(g); });
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the batch");
  v.Field("per_decision",
          per_decision,
          "divide log-probabilities and entropies by the number of decisions of a placement");
  v.Field("valid_only_after",
          valid_only_after,
          "updates after which only placements that fit count; 0: all always count");
  v.Field("entropy_weight", entropy_weight, "weight of the entropy bonus");
  v.Field("entropy_updates",
          entropy_updates,
          "updates over which that weight falls linearly to 0; 0: it stays");
  v.Field("imitation_weight", imitation_weight, "pull towards the best placement so far");
  v.Field("patience",
          patience,
          "updates without a better placement before a restart; 0: never restarts");
  v.Group("optimizer", "gradient descent", [this](FieldVisitor& g) { optimizer.Visit(g); });
}

void PolicyGradientConfig::Validate() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool others = baseline.method == "leave_one_out";
  RequireRange("samples", samples, others ? 2 : 1, 1e6);
  RequireRange("valid_only_after", valid_only_after, 0, kInfinity);
  RequireRange("entropy_weight", entropy_weight, 0, kInfinity);
  RequireRange("entropy_updates", entropy_updates, 0, kInfinity);
  RequireRange("imitation_weight", imitation_weight, 0, kInfinity);
  RequireRange("patience", patience, 0, kInfinity);
  RequireRange("start_probability", start.probability, 0, 1);
  RequireRange("fresh_share", start.fresh_share, 0, 1);
  RequireRange("start_steps", start.steps, 0, kInfinity);
}

}  // namespace emplace
