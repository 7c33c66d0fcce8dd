#pragma once

// From the layers of a sweep config (base, override, grid, scale) to one run config; sweep_config.h
// tells how they are put together.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Starts a run config: with the keys of a file, or empty.
/// @param file    value of the key `config` of the last layer that has it; nullptr: none has
/// @param where   stands for the sweep in messages
/// @param beside  folder of the sweep config, for relative paths
/// @throws InputError if there is no such file, or it is no YAML
ConfigNode BeginRunConfig(const ConfigNode* file,
                          const std::string& where,
                          const std::filesystem::path& beside);

/// Puts the values of map `layer` into `root`, maps key by key, others in the place of what is
/// there. Keys may be dotted; "agents.LABEL.setting" is a setting of the agent with this label. The
/// key `config` is left out.
/// @throws InputError for a key that belongs to the sweep (output, jobs) or an unknown label
void ApplyLayer(ConfigNode& root, const ConfigNode& layer);

/// A key of the grid with one of its values.
using GridChoice = std::pair<std::string, ConfigNode>;

/// Puts the values into `root` as ApplyLayer() does.
void ApplyChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

/// Gives agents whose settings the grid has changed labels that tell so: "seq2seq hidden=64". To be
/// done last, because ApplyLayer() finds agents by their labels.
void LabelByChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

}  // namespace emplace
