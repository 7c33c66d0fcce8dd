#include "experiments/console/config_edit.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

// Returns the label of an entry of a list of agents.
std::string LabelOfEntry(const ConfigNode& agent) {
  if (agent.IsScalar()) return agent.AsString();
  for (const char* key : {"label", "name"}) {
    if (agent.Has(key) && agent.At(key).IsScalar()) return agent.At(key).AsString();
  }
  return "";
}

// Returns the place of the agent with whose label `path` begins. The longest such label counts,
// since the labels of Python agents contain dots. @return -1 if there is none
int FindLabel(const std::vector<std::string>& labels, std::string_view path) {
  int found = -1;
  for (int i = 0; i < std::ssize(labels); ++i) {
    const std::string& label = labels[i];
    const bool begins = !label.empty() && path.starts_with(label) &&
                        (path.size() == label.size() || path[label.size()] == '.');
    if (begins && (found < 0 || label.size() > labels[found].size())) found = i;
  }
  return found;
}

}  // namespace

std::string PathOfLabels(ConfigNode& root, std::string_view path, const std::string& where) {
  std::string known, key;  // the path so far, and its last part
  ConfigNode node = root;
  const auto append = [&](std::string_view part) {
    known += (known.empty() ? "" : ".") + std::string(part);
  };
  while (!path.empty()) {
    std::string_view part = path.substr(0, path.find('.'));
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (node.IsSequence() && !is_index && (key == "agents" || key == "train" || key == "test")) {
      const std::vector<ConfigNode> agents = node.Elements();
      std::vector<std::string> labels;
      for (const ConfigNode& agent : agents) labels.push_back(LabelOfEntry(agent));
      const int index = FindLabel(labels, path);
      if (index < 0) ThrowUnknown(where, "agent", part, labels);
      part = path.substr(0, labels[index].size());
      append(std::to_string(index));
      node = agents[index];
      if (!node.IsMap() && part.size() < path.size()) {
        root.Set(known, fmt::format("{{name: {}}}", QuoteYaml(labels[index])), PlaceOnly(node));
      }
    } else {
      append(part);
      const std::vector<ConfigNode> elements =
          node.IsSequence() && is_index ? node.Elements() : std::vector<ConfigNode>();
      size_t index = 0;
      std::from_chars(part.data(), part.data() + part.size(), index);
      if (index < elements.size()) {
        node = elements[index];
      } else if (node.Has(part)) {
        node = node.At(part);
      } else {  // a new key
        return known + std::string(path.substr(part.size()));
      }
    }
    key = part;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return known;
}

void ApplySettings(ConfigNode& root, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("--set: expected key=value, got \"{}\"", setting));
    }
    const std::string key = setting.substr(0, equals);
    root.Set(PathOfLabels(root, key, "--set: " + key), setting.substr(equals + 1));
  }
}

ConfigNode ReadWithSettings(const std::filesystem::path& path,
                            const std::vector<std::string>& settings) {
  ConfigNode root = ConfigNode::FromFile(path);
  ApplySettings(root, settings);
  return root;
}

void SetValues(ConfigNode& root, const std::string& path, const ConfigNode& node) {
  if (!node.IsMap()) {
    root.Put(path, node);
    return;
  }
  for (const std::string& key : node.Keys()) SetValues(root, path + "." + key, node.At(key));
}

std::string PlaceOnly(const ConfigNode& node) {
  const std::string where = node.Where();
  return where.substr(0, where.rfind(": "));
}

ConfigNode PlaceOf(const ConfigNode& map, std::string_view key) {
  return map.Has(key) ? map.At(key) : map;
}

std::string FlowText(const ConfigNode& node) {
  std::vector<std::string> parts;
  if (node.IsSequence()) {
    for (const ConfigNode& element : node.Elements()) parts.push_back(FlowText(element));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  if (node.IsMap()) {
    for (const std::string& key : node.Keys()) {
      parts.push_back(fmt::format("{}: {}", key, FlowText(node.At(key))));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  return node.IsNull() ? "null" : node.AsString();
}

}  // namespace emplace
