#pragma once

// Merges the layers of a sweep config (base, override, grid, scale) into one run config;
// sweep_config.h explains the order.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Starts a run config with the keys of a file, or empty.
/// @param file    value of the key `config` in the last layer that has it; nullptr: no layer has it
/// @param where   name of the sweep in messages
/// @param beside  folder of the sweep config, for relative paths
/// @throws InputError if there is no such file, or it is not YAML
ConfigNode BeginRunConfig(const ConfigNode* file,
                          const std::string& where,
                          const std::filesystem::path& beside);

/// Merges the map `layer` into `root`: maps key by key; other values are replaced. Keys may be
/// dotted; "agents.LABEL.setting" is a setting of the agent with this label. The key `config` is
/// ignored.
/// @throws InputError for a key that belongs to the sweep (output, jobs) or an unknown label
void ApplyLayer(ConfigNode& root, const ConfigNode& layer);

/// A key of the grid with one of its values.
using GridChoice = std::pair<std::string, ConfigNode>;

/// Merges the values into `root` as ApplyLayer() does.
void ApplyChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

/// Labels agents by the settings that the grid has changed: "seq2seq hidden=64". Must be called
/// last, because ApplyLayer() finds agents by their labels.
void LabelByChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

}  // namespace emplace
