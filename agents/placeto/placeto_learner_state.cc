// State of PlacetoLearner between two updates, and the file of its policy.

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "agents/placeto/placeto_learner.h"
#include "agents/shared/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {

namespace {

/// Visits the times of the ops, which an objective without a timeline lacks.
void VisitOpTimes(StateVisitor& v, const Problem& problem, Outcome& outcome) {
  bool timed = !outcome.start.empty();
  v.Flag(timed);
  if (v.reading() && timed) {
    outcome.start.resize(problem.num_ops());
    outcome.finish.resize(problem.num_ops());
  }
  for (Nanos& start : outcome.start) v.Int("a time", start);
  for (Nanos& finish : outcome.finish) v.Int("a time", finish);
}

}  // namespace

void PlacetoLearner::VisitState(StateVisitor& v) {
  v.Generator(rng_);
  core_.VisitState(v);
  core_.ppo().VisitState(v);
  v.Count("a number of updates", updates_);
  v.Count("a number of evaluations", evaluations_);
  v.Count("a number of restarts", restarts_);
  patience_.VisitState(v);
  v.Double("a logit", stay_);
  v.Flag(improved_);
  v.Count("a number of restarts", forgotten_);
  for (const auto& task : tasks_) {
    v.Int("a level", task->level, 0, static_cast<int>(task->levels.size()) - 1);
    task->patience.VisitState(v);
    for (const auto& level : task->levels) {
      const std::vector<int> choices(level->order().begin(), level->order().end());
      std::vector<int> order = choices;
      for (int& group : order) v.Int("a group", group, 0, level->problem().num_groups() - 1);
      if (!std::is_permutation(order.begin(), order.end(), choices.begin())) {
        v.Fail("expected the groups with a choice of devices, got others");
      }
      if (v.reading()) level->set_order(std::move(order));
    }
    const Problem& problem = task->problem().problem();
    v.Optional(task->start, [&](Placement& start) { v.Devices(start, problem); });
    task->best.VisitState(v, problem);
    task->found.VisitState(v, task->levels.back()->problem());
    if (task->best.placement() != nullptr) {
      v.Result(task->best_outcome, problem);
      VisitOpTimes(v, problem, task->best_outcome);
    }
    if (v.reading()) task->network.set_stay(stay_);
    v.List("a number of episodes",
           task->gains,
           0,
           std::max(config_.baseline_episodes, config_.episodes),
           [&](std::vector<double>& gains) {
             gains.resize(task->problem().order().size());
             for (double& gain : gains) v.Double("a gain", gain);
           });
  }
  v.Table(core_.table());
}

void PlacetoLearner::VisitPolicy(StateVisitor& v) {
  v.Begin("placeto");
  const PlacetoFeaturesConfig& features = config_.network.features;
  v.Name("features.devices", features.devices);
  const Problem& first = *problems_.front();
  std::int64_t devices = first.num_devices();
  v.Int("a number of devices", devices);
  if (features.one_hot() && devices != first.num_devices()) {
    v.Fail(
        fmt::format("it was trained for {} devices, cluster \"{}\" has {}; only a policy with "
                    "features.devices \"scored\" fits any number",
                    devices,
                    first.cluster().name(),
                    first.num_devices()));
  }
  const auto require_same = [&](const char* setting, auto found, auto expected) {
    if (found == expected) return;
    v.Fail(fmt::format("it was trained with {} {}, the settings say {}", setting, found, expected));
  };
  const auto visit_setting = [&](const char* setting, std::int64_t expected) {
    std::int64_t found = expected;
    v.Int(setting, found);
    require_same(setting, found, expected);
  };
  visit_setting("features.start_time", features.start_time);
  visit_setting("features.memory", features.memory);
  visit_setting("features.device_costs", features.device_costs);
  visit_setting("features.effects", features.effects);
  visit_setting("width", config_.network.width);
  visit_setting("rounds", config_.network.rounds);
  visit_setting("aggregation: mean", config_.network.mean());
  double stay = config_.network.stay;
  v.Double("stay", stay);
  require_same("stay", stay, config_.network.stay);
  VisitParameters(v, parameters_);
}

void PlacetoLearner::SavePolicy(std::ostream& out) {
  StateVisitor v(out);
  VisitPolicy(v);
}

void PlacetoLearner::LoadPolicyFile() {
  if (config_.policy.empty()) return;
  try {
    std::istringstream in(ReadFile(config_.policy));
    StateVisitor v(in);
    VisitPolicy(v);
  } catch (const InputError& error) {
    throw SettingError("policy", fmt::format("{}: {}", config_.policy, error.what()));
  }
}

}  // namespace emplace
