#include "agents/shared/policy_gradient/entropy_control.h"

#include <algorithm>
#include <cmath>

namespace emplace {

void EntropyControlConfig::Visit(FieldVisitor& v) {
  v.Field("begin",
          begin,
          Between(0, 1e6),
          "initial target of the entropy per decision [nats]; 0: not controlled");
  v.Field("end", end, Between(1e-6, 1e6), "final target of the entropy per decision [nats]");
  v.Field(
      "updates",
      updates,
      Between(1, 1e9),
      "updates from the initial to the final target, in equal ratios; no restart occurs before");
  v.Field("share",
          share,
          Between(0, 1),
          "largest number of these updates, as a share of the updates in the budget");
  v.Field("rate", rate, Between(0, 10), "largest change of the weight's logarithm per update");
}

EntropyControl::EntropyControl(const EntropyControlConfig& config)
    : config_(config), begin_(config.begin), updates_(config.updates) {
}

void EntropyControl::Begin(std::int64_t updates_left) {
  if (config_.begin == 0) return;
  const double most = std::floor(config_.share * static_cast<double>(updates_left));
  factor_ = 1;
  begin_ = config_.begin;
  updates_ = static_cast<std::int64_t>(std::clamp<double>(most, 1, config_.updates));
}

double EntropyControl::Target(std::int64_t update) const {
  const double share = std::min(1.0, static_cast<double>(update) / static_cast<double>(updates_));
  return begin_ * std::pow(config_.end / begin_, share);
}

void EntropyControl::Observe(double entropy, std::int64_t update) {
  if (config_.begin == 0) return;
  if (update == 0) begin_ = std::min(begin_, std::max(entropy, config_.end));
  const double target = Target(update);
  const double change = config_.rate * std::clamp((target - entropy) / target, -1.0, 1.0);
  factor_ = std::clamp(factor_ * std::exp(change), 1e-4, 1e4);
}

bool EntropyControl::Complete(std::int64_t updates) const {
  return config_.begin == 0 || updates >= updates_;
}

void EntropyControl::VisitState(StateVisitor& v) {
  v.Double("a factor of the entropy", factor_);
  v.Double("a first entropy", begin_);
  v.Count("a number of updates", updates_);
}

}  // namespace emplace
