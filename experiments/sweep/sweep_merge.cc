#include "experiments/sweep/sweep_merge.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "experiments/config_edit.h"
#include "experiments/menu.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr std::string_view kAgents = "agents.";

bool NamesAgent(std::string_view path) {
  return path.starts_with(kAgents) && path.find('.', kAgents.size()) != std::string_view::npos;
}

std::string LabelOf(const ConfigNode& agent) {
  if (!agent.IsMap()) return agent.AsString();
  return (agent.Has("label") ? agent.At("label") : agent.At("name")).AsString();
}

// "agents.seq2seq.hidden" -> "agents.2", "hidden"; the entry there is made a map.
struct AgentPath {
  std::string entry, setting;
};

AgentPath FindAgentPath(ConfigNode& root, const std::string& path, const ConfigNode& value) {
  const size_t dot = path.find('.', kAgents.size());
  const std::string label = path.substr(kAgents.size(), dot - kAgents.size());
  std::vector<std::string> labels;
  if (root.Has("agents")) {
    for (const ConfigNode& agent : root.At("agents").Elements()) labels.push_back(LabelOf(agent));
  }
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found == labels.end()) ThrowUnknown(value.Where(), "agent", label, labels);
  const size_t index = static_cast<size_t>(found - labels.begin());
  const std::string entry = fmt::format("agents.{}", index);
  const ConfigNode agent = root.At("agents").Elements()[index];
  if (!agent.IsMap()) {
    root.Set(entry, fmt::format("{{name: {}}}", QuoteYaml(agent.AsString())), PlaceOnly(agent));
  }
  return {entry, path.substr(dot + 1)};
}

// The values of `node` under `path`, maps key by key.
void Apply(ConfigNode& root, const std::string& path, const ConfigNode& node) {
  if (path == "output" || path == "jobs") {
    node.Fail(fmt::format("\"{}\" is a key of the sweep, not of its runs", path));
  }
  if (node.IsMap()) {
    for (const std::string& key : node.Keys()) {
      if (path.empty() && key == "config") continue;
      Apply(root, path.empty() ? key : path + "." + key, node.At(key));
    }
  } else if (NamesAgent(path)) {
    const AgentPath agent = FindAgentPath(root, path, node);
    root.Put(agent.entry + "." + agent.setting, node);
  } else {
    root.Put(path, node);
  }
}

}  // namespace

ConfigNode BeginRunConfig(const ConfigNode* file,
                          const std::string& where,
                          const std::filesystem::path& beside) {
  if (file == nullptr) return ConfigNode::FromString("{}", where);
  const ConfigNode read =
      ConfigNode::FromFile(ResolveMenu(RunMenu(), file->AsString(), file->Where(), beside));
  ConfigNode root = ConfigNode::FromString("{}", where);
  for (const std::string& key : read.Keys()) {
    if (key == "output" || key == "jobs") continue;  // of a run on its own
    root.Put(key, read.At(key));
  }
  return root;
}

void ApplyLayer(ConfigNode& root, const ConfigNode& layer) {
  layer.Keys();  // refuses what is no map
  Apply(root, "", layer);
}

void ApplyChoices(ConfigNode& root, const std::vector<GridChoice>& choices) {
  for (const auto& [key, value] : choices) {
    if (key != "config") Apply(root, key, value);
  }
}

void LabelByChoices(ConfigNode& root, const std::vector<GridChoice>& choices) {
  std::map<std::string, std::string> labels;  // by entry, all found before the first changes
  for (const auto& [key, value] : choices) {
    if (!NamesAgent(key)) continue;
    const AgentPath agent = FindAgentPath(root, key, value);
    std::string& label = labels[agent.entry];
    if (label.empty())
      label = key.substr(kAgents.size(), key.find('.', kAgents.size()) - kAgents.size());
    label += fmt::format(" {}={}", agent.setting, FlowText(value));
  }
  for (auto& [entry, label] : labels) {
    std::replace(label.begin(), label.end(), '/', '_');  // HDF5 would see a group
    root.Set(entry + ".label", QuoteYaml(label), "grid");
  }
}

}  // namespace emplace
