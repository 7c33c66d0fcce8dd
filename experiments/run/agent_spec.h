#pragma once

// An agent as the list `agents:` of a config names it: "heft", or a map such as {name: seq2seq,
// label: mine, preset: paper, samples: 4}:
//
//   name     registered name, see `emplace list agents`
//   label    what the results call it; two agents of one name need different labels
//   preset   begin with the settings of the file configs/agents/NAME_PRESET.yaml
//   others   settings of the agent, in the place of those of the preset

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
  ConfigNode settings;                ///< those of the preset and its own, without name, label and
                                      ///< preset; files that they name (`rules` of an expert,
                                      ///< `policy` of a trained agent) as paths
};

/// Reads the list. Settings are not checked here: that is for the agents, when they are made.
/// @param registry  must outlive the specs
/// @param beside    folder of the config; a relative path is looked for in the current folder, then
///   there
/// @param own_keys  keys of the maps that the caller reads itself; they are no settings
/// @param start     what agents with the setting `start` begin from if their map does not say it,
///   in the place of a preset's; empty: each agent's own
/// @throws InputError for an unknown agent or preset (with the choices), an empty list, a label
///   that is taken
std::vector<AgentSpec> ParseAgents(const ConfigNode& list,
                                   const AgentRegistry& registry,
                                   const std::filesystem::path& beside,
                                   std::span<const std::string> own_keys = {},
                                   const std::string& start = "");

}  // namespace emplace
