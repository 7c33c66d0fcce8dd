#include "experiments/config_edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"

namespace emplace {

void ApplySettings(ConfigNode& root, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("--set: expected key=value, got \"{}\"", setting));
    }
    root.Set(setting.substr(0, equals), setting.substr(equals + 1));
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
