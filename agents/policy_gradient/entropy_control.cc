#include "agents/policy_gradient/entropy_control.h"

#include <algorithm>
#include <cmath>

#include "framework/config/setting_error.h"

namespace emplace {

void EntropyControlConfig::Visit(FieldVisitor& v) {
  v.Field("begin", begin, "entropy per decision to hold at first [nats]; 0: not controlled");
  v.Field("end", end, "entropy per decision to hold at last [nats]");
  v.Field("updates", updates, "updates from one to the other, in equal ratios; no restart before");
  v.Field("rate", rate, "largest change of the weight's logarithm per update");
}

EntropyControl::EntropyControl(const EntropyControlConfig& config, const std::string& key)
    : config_(config) {
  RequireRange(key + ".begin", config.begin, 0, 1e6);
  RequireRange(key + ".end", config.end, 1e-6, 1e6);
  RequireRange(key + ".updates", config.updates, 1, 1e9);
  RequireRange(key + ".rate", config.rate, 0, 10);
}

double EntropyControl::Target(std::int64_t update) const {
  const double share = std::min(1.0, static_cast<double>(update) / config_.updates);
  return config_.begin * std::pow(config_.end / config_.begin, share);
}

void EntropyControl::Observe(double entropy, std::int64_t update) {
  if (config_.begin == 0) return;
  const double target = Target(update);
  const double change = config_.rate * std::clamp((target - entropy) / target, -1.0, 1.0);
  factor_ = std::clamp(factor_ * std::exp(change), 1e-4, 1e4);
}

bool EntropyControl::Complete(std::int64_t updates) const {
  return config_.begin == 0 || updates >= config_.updates;
}

}  // namespace emplace
