#include "experiments/sweep/sweep_merge.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/console/menu.h"

namespace emplace {
namespace {

constexpr std::string_view kAgents = "agents.";

bool NamesAgent(std::string_view path) {
  return path.starts_with(kAgents) && path.find('.', kAgents.size()) != std::string_view::npos;
}

// Sets the values of `node` under `path`, maps key by key.
void Apply(ConfigNode& root, const std::string& path, const ConfigNode& node) {
  if (path == "output" || path == "jobs") {
    node.Fail(fmt::format("\"{}\" is a key of the sweep, not of its runs", path));
  }
  if (node.IsMap()) {
    for (const std::string& key : node.Keys()) {
      if (path.empty() && key == "config") continue;
      Apply(root, path.empty() ? key : path + "." + key, node.At(key));
    }
  } else {
    if (NamesAgent(path) && !root.Has("agents"))
      root.Put("agents", ConfigNode::FromString("[]", ""));
    root.Put(PathOfLabels(root, path, node.Where()), node);
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
    if (key == "output" || key == "jobs") continue;  // belong to a single run
    root.Put(key, read.At(key));
  }
  return root;
}

void ApplyLayer(ConfigNode& root, const ConfigNode& layer) {
  layer.Keys();  // refuses values that are not maps
  Apply(root, "", layer);
}

void ApplyChoices(ConfigNode& root, const std::vector<GridChoice>& choices) {
  for (const auto& [key, value] : choices) {
    if (key != "config") Apply(root, key, value);
  }
}

void LabelByChoices(ConfigNode& root, const std::vector<GridChoice>& choices) {
  std::map<std::string, std::string> labels;  // by entry; all are found before the first changes
  for (const auto& [key, value] : choices) {
    if (!NamesAgent(key)) continue;
    const std::string path = PathOfLabels(root, key, value.Where());  // "agents.2.hidden"
    const std::string entry = path.substr(0, path.find('.', kAgents.size()));
    const std::string setting = path.substr(entry.size() + 1);
    std::string& label = labels[entry];
    if (label.empty()) {
      label = key.substr(kAgents.size(), key.size() - kAgents.size() - setting.size() - 1);
    }
    label += fmt::format(" {}={}", setting, FlowText(value));
  }
  for (auto& [entry, label] : labels) {
    std::replace(label.begin(), label.end(), '/', '_');  // HDF5 would create a group
    root.Set(entry + ".label", QuoteYaml(label), "grid");
  }
}

}  // namespace emplace
