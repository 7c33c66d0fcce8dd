#pragma once

// An agent as an entry of the list `agents:` of a config: "heft", or a map such as {name: seq2seq,
// label: mine, preset: paper, samples: 4}:
//
//   name     registered name, see `emplace list agents`
//   label    name of the agent in the results; two agents of one name need different labels
//   preset   the settings of the file configs/agents/NAME_PRESET.yaml are the defaults
//   others   settings of the agent; they replace those of the preset

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/search/agent.h"

namespace emplace {

/// One entry of `agents:`.
struct AgentSpec {
  std::string label;                  ///< unique in its list; by default the agent's name
  const AgentEntry* entry = nullptr;  ///< points into the registry
  ConfigNode settings;  ///< from the preset and the entry, without name, label and preset; names of
                        ///< files (`rules` of an expert, `policy` of a trained agent) as paths
};

/// Reads the list. Does not check the settings: the agents do that when they are made.
/// @param registry  must outlive the specs
/// @param beside    folder of the config; a relative path is looked up in the current folder first,
///   then in this one
/// @param own_keys  keys of the maps that the caller reads itself; they are not settings of the
///   agent
/// @param start     value of the setting `start` for agents whose map does not set it; replaces the
///   preset's; empty: each agent's own
/// @throws InputError for an unknown agent or preset (with the choices), an empty list, or a label
///   that is used twice
std::vector<AgentSpec> ParseAgents(const ConfigNode& list,
                                   const AgentRegistry& registry,
                                   const std::filesystem::path& beside,
                                   std::span<const std::string> own_keys = {},
                                   const std::string& start = "");

}  // namespace emplace
