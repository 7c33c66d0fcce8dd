#include "agents/expert/expert.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"
#include "agents/single_device/single_device.h"
#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr int kUndecided = -1;

int ParseDevice(const ConfigNode& rule, int layers, const Cluster& cluster) {
  if (rule.Has("layer") == rule.Has("device")) {
    rule.Fail("expected either \"layer\" or \"device\" together with \"match\"");
  }
  if (rule.Has("device")) {
    const ConfigNode node = rule.At("device");
    try {
      return SelectDevices(cluster, "device", node.AsString()).front();
    } catch (const SettingError& error) {
      node.Fail(error.message());
    }
  }
  const ConfigNode node = rule.At("layer");
  const std::int64_t layer = node.AsInt();
  if (layers < 1)
    node.Fail(
        "a rule with a layer needs \"layers\", the number of layers, as a setting next to "
        "\"rules\"");
  if (layer < 0 || layer >= layers) {
    node.Fail(fmt::format("expected a layer from 0 to {}, got {}", layers - 1, layer));
  }
  const std::vector<int> gpus = DevicesOfClass(cluster, DeviceClass::kGpu);
  if (gpus.empty()) {
    node.Fail(
        fmt::format("layers are spread over GPUs, and cluster \"{}\" has none", cluster.name()));
  }
  const auto count = static_cast<std::int64_t>(gpus.size());
  return gpus[count >= layers ? layer : layer * count / layers];
}

/// Sets the device of every undecided op, as described in the header.
void FollowInputs(const Problem& problem, std::vector<int>& device) {
  const Graph& graph = problem.graph();
  const OpInputs inputs(graph);
  const auto order = graph.topological_order();
  for (int op : order) {
    if (device[op] != kUndecided) continue;
    std::int64_t most = -1;
    for (const OpInput& input : inputs[op]) {
      if (device[input.op] == kUndecided || input.bytes <= most) continue;
      most = input.bytes;
      device[op] = device[input.op];
    }
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (device[*it] != kUndecided) continue;
    for (int reader : graph.successors(*it)) {
      if (device[*it] == kUndecided) device[*it] = device[reader];
    }
  }
  const std::vector<int> gpus = DevicesOfClass(problem.cluster(), DeviceClass::kGpu);
  std::replace(device.begin(),
               device.end(),
               kUndecided,
               gpus.empty() ? ComputingDevices(problem.cluster()).front() : gpus.front());
}

}  // namespace

std::vector<ExpertRule> ParseExpertRules(const ConfigNode& rules,
                                         int layers,
                                         const Cluster& cluster) {
  static const std::vector<std::string> kKeys{"match", "layer", "device"};
  std::vector<ExpertRule> parsed;
  for (const ConfigNode& node : rules.Elements()) {
    if (!node.IsMap()) node.Fail("expected a rule like {match: \"encoder/*\", device: gpu}");
    node.RequireKnownKeys(kKeys);
    ExpertRule rule;
    const ConfigNode match = node.At("match");
    if (match.IsSequence()) {
      for (const ConfigNode& pattern : match.Elements())
        rule.patterns.push_back(pattern.AsString());
    } else {
      rule.patterns.push_back(match.AsString());
    }
    rule.device = ParseDevice(node, layers, cluster);
    parsed.push_back(std::move(rule));
  }
  if (parsed.empty()) rules.Fail("expected at least one rule, got none");
  return parsed;
}

ExpertAgent::ExpertAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("expert", context), device_of_op_(problem().num_ops(), kUndecided) {
  if (!config.rules.IsSequence() && !config.rules.IsScalar()) {
    throw SettingError("rules",
                       "expected a list of rules, or the path of a YAML file that has one");
  }
  const bool none_before = config.before.IsMap() && config.before.Keys().empty();
  if (!none_before && !config.before.IsSequence()) {
    throw SettingError("before", "expected a list of rules");
  }
  ConfigNode rules = config.rules;
  int layers = config.layers;
  if (rules.IsScalar()) {
    static const std::vector<std::string> kKeys{"name", "layers", "rules"};
    const ConfigNode file = ConfigNode::FromFile(rules.AsString());
    file.RequireKnownKeys(kKeys);
    rules = file.At("rules");
    if (layers == 0 && file.Has("layers")) layers = static_cast<int>(file.At("layers").AsInt());
  }
  if (!none_before) Apply(config.before, layers);
  Apply(rules, layers);
}

void ExpertAgent::Apply(const ConfigNode& rules, int layers) {
  const std::vector<ExpertRule> parsed = ParseExpertRules(rules, layers, problem().cluster());
  std::vector<bool> used(parsed.size(), false);
  for (int op = 0; op < problem().num_ops(); ++op) {
    const std::string& name = problem().graph().op(op).name;
    for (std::size_t i = 0; i < parsed.size(); ++i) {
      const auto& patterns = parsed[i].patterns;
      if (std::none_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
            return MatchesGlob(pattern, name);
          })) {
        continue;
      }
      used[i] = true;
      if (device_of_op_[op] == kUndecided) device_of_op_[op] = parsed[i].device;
    }
  }
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (used[i]) continue;
    rules.Elements()[i].Fail(fmt::format("{} matches no op of graph \"{}\"; its first op is \"{}\"",
                                         JoinChoices(parsed[i].patterns),
                                         problem().graph().name(),
                                         problem().graph().op(0).name));
  }
}

std::vector<Placement> ExpertAgent::Construct() const {
  std::vector<int> device = device_of_op_;
  FollowInputs(problem(), device);
  const std::vector<double> cost = MeanOpCosts(problem(), ~std::uint64_t{0});
  Placement placement;
  for (int group = 0; group < problem().num_groups(); ++group) {
    std::vector<double> votes(problem().num_devices(), 0);
    for (int op : problem().grouping().members(group)) votes[device[op]] += 1e-3 + cost[op];
    const int favourite =
        static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    placement.device.push_back(
        static_cast<DeviceIndex>(FirstDevice(SingleDeviceCandidates(problem(), group, favourite))));
  }
  return {placement};
}

}  // namespace emplace
