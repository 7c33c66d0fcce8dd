#include "agents/shared/policy_gradient/reward.h"

#include <algorithm>
#include <cmath>

#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr double kNanosecond = 1e-9;  // [s]

/// Returns twice the sum over the groups of their longest time on any allowed device. [s]
double FailingSeconds(const Problem& problem) {
  double sum = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    Nanos longest = 0;
    for (int d = 0; d < problem.num_devices(); ++d) {
      if (problem.allowed(group, d)) longest = std::max(longest, problem.group_cost(group, d));
    }
    sum += static_cast<double>(longest);
  }
  return 2 * sum * kNanosecond;
}

double AllBytes(const Graph& graph) {
  double sum = 0;
  for (int tensor = 0; tensor < graph.num_tensors(); ++tensor) {
    if (graph.alias_root(tensor) == tensor) sum += static_cast<double>(graph.tensor(tensor).bytes);
  }
  return sum;
}

}  // namespace

void RewardConfig::Visit(FieldVisitor& v) {
  v.Field("transform", transform, "function of the step time in seconds: sqrt, log or identity");
  v.Field("failing_signal",
          failing_signal,
          AtLeast(0),
          "time assigned to a placement that does not fit [s]; 0: twice that of the whole graph on "
          "its slowest devices");
  v.Field("deficit_weight",
          deficit_weight,
          AtLeast(0),
          "growth of the failing signal with the missing share of all bytes");
}

Reward::Reward(const RewardConfig& config, const Problem& problem, const std::string& key)
    : config_(config) {
  RequireChoice(key + ".transform", config.transform, {"identity", "log", "sqrt"});
  failing_seconds_ = config.failing_signal > 0 ? config.failing_signal : FailingSeconds(problem);
  all_bytes_ = std::max(AllBytes(problem.graph()), 1.0);
}

double Reward::Cost(const Score& score) const {
  if (score.feasible()) return Transformed(static_cast<double>(score.step_time) * kNanosecond);
  const double missing = static_cast<double>(score.deficit) / all_bytes_;
  return Transformed(failing_seconds_ * (1 + config_.deficit_weight * missing));
}

double Reward::Transformed(double seconds) const {
  if (config_.transform == "sqrt") return std::sqrt(seconds);
  if (config_.transform == "log") return std::log(std::max(seconds, kNanosecond));
  return seconds;
}

}  // namespace emplace
