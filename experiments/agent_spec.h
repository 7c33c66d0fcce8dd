#pragma once

// An agent as a config names it: "heft", or {name: seq2seq, label: ..., preset: ..., setting: ...}.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/search/agent.h"

namespace emplace {

/// One entry of `agents:`.
struct AgentSpec {
  std::string label;                  ///< unique in its list; the agent's name unless given
  const AgentEntry* entry = nullptr;  ///< points into the registry
  ConfigNode settings;                ///< without name and label; rules and policy as paths
};

/// @param registry  outlives the specs
/// @param beside    folder of the config, for relative paths
/// @param own_keys  of the maps that belong to the caller, beside name, label and preset
/// @throws InputError for an unknown agent or preset, an empty list, a label that is taken
std::vector<AgentSpec> ParseAgents(const ConfigNode& list,
                                   const AgentRegistry& registry,
                                   const std::filesystem::path& beside,
                                   std::span<const std::string> own_keys = {});

/// The values of map `node` go into `root` under `path` one by one, so that they add to a map that
/// is already there; all keep their places for messages.
void SetValues(ConfigNode& root, const std::string& path, const ConfigNode& node);

/// "run.yaml:12:5" of a value's "run.yaml:12:5: agents.0.cooling".
std::string PlaceOnly(const ConfigNode& node);

}  // namespace emplace
