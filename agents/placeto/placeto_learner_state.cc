// What PlacetoLearner saves and reads: its state between two updates, and its policy.

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "agents/placeto/placeto_learner.h"
#include "agents/policy_gradient/learner_state.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/setting_error.h"

namespace emplace {

void PlacetoLearner::Save(StateWriter& writer) const {
  writer.Generator(rng_);
  core_.Save(writer);
  writer.Double(core_.ppo().kl_weight());
  writer.Int(updates_);
  writer.Int(evaluations_);
  writer.Int(restarts_);
  writer.Int(patience_.trials());
  writer.Double(stay_);
  writer.Int(improved_);
  writer.Int(forgotten_);
  for (const auto& task : tasks_) {
    for (int group : task->problem.order()) writer.Int(group);
    writer.Int(task->start.has_value());
    if (task->start) writer.Devices(*task->start);
    task->best.Save(writer);
    for (Nanos start : task->best_starts) writer.Int(start);
    writer.Int(std::ssize(task->gains));
    for (const auto& gains : task->gains) {
      for (double gain : gains) writer.Double(gain);
    }
  }
  writer.Table(core_.table());
}

void PlacetoLearner::Load(StateReader& reader) {
  reader.Generator(rng_);
  core_.Load(reader);
  core_.ppo().set_kl_weight(reader.Double("a weight"));
  updates_ = reader.Count("a number of updates");
  evaluations_ = reader.Count("a number of evaluations");
  restarts_ = reader.Counter("a number of restarts");
  patience_.set_trials(reader.Count("a number of updates"));
  stay_ = reader.Double("a logit");
  for (const auto& task : tasks_) task->network.set_stay(stay_);
  improved_ = reader.Flag();
  forgotten_ = reader.Count("a number of restarts");
  for (const auto& task : tasks_) {
    const Problem& problem = task->problem.problem();
    std::vector<int> order;
    for (std::size_t t = 0; t < task->problem.order().size(); ++t) {
      order.push_back(static_cast<int>(reader.Int("a group")));
    }
    if (!std::is_permutation(order.begin(), order.end(), task->problem.order().begin())) {
      reader.Fail("expected the groups that have a choice, got others");
    }
    task->problem.set_order(std::move(order));
    task->start.reset();
    if (reader.Flag()) task->start = reader.Devices(problem);
    task->best.Load(reader, problem);
    task->best_starts.assign(task->best.placement() != nullptr ? problem.num_groups() : 0, 0);
    for (Nanos& start : task->best_starts) start = reader.Int("a time");
    const std::int64_t count = reader.Int("a number of episodes");
    const int most = std::max(config_.baseline_episodes, config_.episodes);
    if (count < 0 || count > most) {
      reader.Fail(fmt::format("expected at most {} episodes, got {}", most, count));
    }
    task->gains.assign(count, std::vector<double>(task->problem.order().size()));
    for (auto& gains : task->gains) {
      for (double& gain : gains) gain = reader.Double("a gain");
    }
  }
  reader.Table(core_.table());
}

void PlacetoLearner::SavePolicy(std::ostream& out) const {
  StateWriter writer(out, "placeto");
  const PlacetoFeaturesConfig& features = config_.network.features;
  writer.Name(features.devices);
  writer.Int(problems_.front()->num_devices());
  writer.Int(features.start_time);
  writer.Int(features.memory);
  writer.Int(features.device_costs);
  writer.Int(config_.network.width);
  writer.Int(config_.network.rounds);
  writer.Int(config_.network.mean());
  writer.Double(config_.network.stay);
  SaveParameters(writer, parameters_);
}

void PlacetoLearner::LoadPolicy(std::istream& in, const std::string& where) {
  try {
    StateReader reader(in, "placeto");
    const PlacetoFeaturesConfig& features = config_.network.features;
    reader.Name("features.devices", features.devices);
    const std::int64_t devices = reader.Int("a number of devices");
    if (features.one_hot() && devices != problems_.front()->num_devices()) {
      reader.Fail(
          fmt::format("it was trained for {} devices, cluster \"{}\" has {}; only one with "
                      "features.devices \"scored\" fits any number",
                      devices,
                      problems_.front()->cluster().name(),
                      problems_.front()->num_devices()));
    }
    const auto require = [&](const char* setting, std::int64_t expected) {
      if (const std::int64_t value = reader.Int(setting); value != expected) {
        reader.Fail(fmt::format(
            "it was trained with {} {}, the settings say {}", setting, value, expected));
      }
    };
    require("features.start_time", features.start_time);
    require("features.memory", features.memory);
    require("features.device_costs", features.device_costs);
    require("width", config_.network.width);
    require("rounds", config_.network.rounds);
    require("aggregation: mean", config_.network.mean());
    if (const double stay = reader.Double("stay"); stay != config_.network.stay) {
      reader.Fail(fmt::format(
          "it was trained with stay {}, the settings say {}", stay, config_.network.stay));
    }
    LoadParameters(reader, parameters_);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

void PlacetoLearner::LoadPolicyFile() {
  if (config_.policy.empty()) return;
  try {
    std::istringstream in(ReadFile(config_.policy));
    LoadPolicy(in, config_.policy);
  } catch (const InputError& error) {
    throw SettingError("policy", error.what());
  }
}

}  // namespace emplace
