#include "agents/shared/policy_file.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

constexpr std::string_view kSettingsLine = "\nsettings\n";
constexpr std::array<std::string_view, 2> kWhereWeightsComeFrom{"policy", "network"};

}  // namespace

std::string PolicyFileText(const std::string& policy, const std::string& settings) {
  const ConfigNode all = ConfigNode::FromString(settings, "settings");
  ConfigNode kept;
  for (const std::string& key : all.Keys()) {
    if (std::ranges::find(kWhereWeightsComeFrom, key) != kWhereWeightsComeFrom.end()) continue;
    kept.Put(key, all.At(key));
  }
  std::string text = policy;
  if (text.ends_with('\n')) text.pop_back();
  return text + std::string(kSettingsLine) + kept.Dump() + "\n";
}

std::optional<ConfigNode> TrainedSettings(const std::string& path, const std::string& agent) {
  if (path.empty() || path == "default") return std::nullopt;
  std::string text;
  try {
    text = ReadFile(path);
    std::istringstream in(text);
    StateVisitor(in).Begin(agent);
  } catch (const InputError&) {
    return std::nullopt;
  }
  const size_t at = text.find(kSettingsLine);
  if (at == std::string::npos) return std::nullopt;
  return ConfigNode::FromString(text.substr(at + kSettingsLine.size()), path + ", settings");
}

}  // namespace emplace
