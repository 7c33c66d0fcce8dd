#pragma once

// From the layers of a sweep config (base, override, grid, scale) to one run config.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Starts a run config: empty, or the file that `config:` of the last layer that has one names.
/// @param where   stands for the sweep in messages
/// @param beside  folder of the sweep config, for relative paths
ConfigNode BeginRunConfig(const ConfigNode* file,
                          const std::string& where,
                          const std::filesystem::path& beside);

/// Puts the values of map `layer` into `root`, maps key by key. Keys may be dotted;
/// "agents.LABEL.setting" names an agent of the list by its label. `config` is left out.
/// @throws InputError for a key that belongs to the sweep (output, jobs) or an unknown label
void ApplyLayer(ConfigNode& root, const ConfigNode& layer);

/// A key of the grid with one of its values.
using GridChoice = std::pair<std::string, ConfigNode>;

/// Puts the values into `root` as ApplyLayer() does.
void ApplyChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

/// Makes labels tell agents apart whose settings the grid has changed: "seq2seq hidden=64". The
/// last thing to be done, for ApplyLayer() finds agents by their labels.
void LabelByChoices(ConfigNode& root, const std::vector<GridChoice>& choices);

/// The value as one line: [a, {b: c}].
std::string FlowText(const ConfigNode& node);

}  // namespace emplace
