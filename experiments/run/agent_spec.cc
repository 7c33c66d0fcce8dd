#include "experiments/run/agent_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/console/menu.h"
#include "framework/base/path_part.h"

namespace emplace {

namespace {

// Reads configs/agents/AGENT_NAME.yaml for `preset: NAME`.
ConfigNode ReadPreset(const ConfigNode& preset,
                      const std::string& agent,
                      const std::filesystem::path& beside) {
  const std::string prefix = agent + "_";
  const Menu menu{"preset", "agents", prefix.c_str(), {".yaml", ".yml"}};
  ConfigNode file =
      ConfigNode::FromFile(ResolveMenu(menu, preset.AsString(), preset.Where(), beside));
  if (const ConfigNode name = file.At("name"); name.AsString() != agent) {
    name.Fail(fmt::format("expected settings of \"{}\", got \"{}\"", agent, name.AsString()));
  }
  return file;
}

bool HasSetting(const AgentEntry& entry, const std::string& key) {
  return std::ranges::any_of(entry.describe_settings(),
                             [&](const FieldHelp& field) { return field.key == key; });
}

// Returns the settings of an agent: preset first, then `start`, then its map without the keys that
// are not settings.
ConfigNode SettingsOf(const ConfigNode& node,
                      const AgentEntry& entry,
                      const std::filesystem::path& beside,
                      std::span<const std::string> own_keys,
                      const std::string& start) {
  std::string agent = entry.name;
  std::ranges::replace(agent, '.', ':');  // a '.' would lead to a key within a map
  ConfigNode root;
  root.Set(agent, "{}", PlaceOnly(node));
  const auto add = [&](const ConfigNode& settings) {
    for (const std::string& key : settings.Keys()) {
      if (key == "name" || key == "label" || key == "preset") continue;
      if (std::find(own_keys.begin(), own_keys.end(), key) != own_keys.end()) continue;
      SetValues(root, agent + "." + key, settings.At(key));
    }
  };
  if (node.IsMap() && node.Has("preset")) add(ReadPreset(node.At("preset"), entry.name, beside));
  if (!start.empty() && HasSetting(entry, "start")) {
    root.Set(agent + ".start", "[" + QuoteYaml(start) + "]", PlaceOnly(node));
  }
  if (node.IsMap()) add(node);
  return root.At(agent);
}

// Resolves `rules:` of an expert, which may be a name on the menu; the agent accepts paths only.
void ResolveRules(ConfigNode& settings, const std::filesystem::path& beside) {
  if (!settings.Has("rules") || !settings.At("rules").IsScalar()) return;
  const ConfigNode rules = settings.At("rules");
  const std::filesystem::path path =
      ResolveMenu(ExpertRulesMenu(), rules.AsString(), rules.Where(), beside);
  settings.Set("rules", QuoteYaml(path.string()), PlaceOnly(rules));
}

// Resolves `policy:` of a trained policy; a relative path may be relative to the config.
void ResolvePolicy(ConfigNode& settings, const std::filesystem::path& beside) {
  if (!settings.Has("policy") || !settings.At("policy").IsScalar()) return;
  const ConfigNode policy = settings.At("policy");
  const std::filesystem::path path = LookBeside(policy.AsString(), beside);
  if (path == policy.AsString()) return;
  settings.Set("policy", QuoteYaml(path.string()), PlaceOnly(policy));
}

AgentSpec ParseAgent(const ConfigNode& node,
                     const AgentRegistry& registry,
                     const std::filesystem::path& beside,
                     std::span<const std::string> own_keys,
                     const std::string& start) {
  AgentSpec spec;
  const ConfigNode name = node.IsMap() ? node.At("name") : node;
  spec.entry = &registry.Find(name.AsString(), name.Where());
  spec.label = spec.entry->name;
  std::ranges::replace(spec.label, '/', '_');  // of "python:FOLDER/FILE.py:CLASS"
  spec.settings = SettingsOf(node, *spec.entry, beside, own_keys, start);
  if (node.IsMap() && node.Has("label")) {
    const ConfigNode label = node.At("label");
    spec.label = label.AsString();
    if (!IsPathPart(spec.label)) {  // labels are names of HDF5 groups
      label.Fail(fmt::format("expected {}", kPathPartHelp));
    }
    if (spec.label.find(", ") != std::string::npos) {
      label.Fail(fmt::format("expected a text without \", \", which separates labels, got \"{}\"",
                             spec.label));
    }
  }
  if (spec.entry->name == "expert") ResolveRules(spec.settings, beside);
  ResolvePolicy(spec.settings, beside);
  return spec;
}

}  // namespace

std::vector<AgentSpec> ParseAgents(const ConfigNode& list,
                                   const AgentRegistry& registry,
                                   const std::filesystem::path& beside,
                                   std::span<const std::string> own_keys,
                                   const std::string& start) {
  std::vector<AgentSpec> specs;
  for (const ConfigNode& node : list.Elements()) {
    AgentSpec spec = ParseAgent(node, registry, beside, own_keys, start);
    for (const AgentSpec& other : specs) {
      if (other.label != spec.label) continue;
      node.Fail(
          fmt::format("agent \"{}\" is listed twice; give each entry its own label, as in {{name: "
                      "{}, label: ...}}",
                      spec.label,
                      spec.entry->name));
    }
    specs.push_back(std::move(spec));
  }
  if (specs.empty()) list.Fail("expected at least one agent");
  return specs;
}

}  // namespace emplace
