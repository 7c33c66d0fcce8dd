#pragma once

// Changes to configs before they are read: values from the command line or from another config, and
// values as text. Every value keeps the place where it was written, for messages.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Writes values from the command line into a config.
/// @param settings  "key=value" texts, the arguments of --set, which replace or add keys; the key
///   may be dotted ("budget.seconds", "agents.LABEL.setting": PathOfLabels()), the value is YAML
/// @throws InputError naming --set for a text without "=", an unknown label or invalid YAML
void ApplySettings(ConfigNode& root, const std::vector<std::string>& settings);

/// Returns the config in a YAML file after ApplySettings().
/// @throws InputError as ConfigNode::FromFile() and ApplySettings() do
ConfigNode ReadWithSettings(const std::filesystem::path& path,
                            const std::vector<std::string>& settings);

/// Replaces labels of agents in a dotted path by their places in the list: "agents.seq2seq.hidden"
/// -> "agents.2.hidden". The lists of agents are agents, train and test. If the path leads into an
/// entry that is only a name, the entry becomes a map in `root`.
/// @param where  place of the path, for messages
/// @throws InputError for a label that is not in the list
std::string PathOfLabels(ConfigNode& root, std::string_view path, const std::string& where);

/// Writes the values of the map `node` into `root` under `path` one by one, so that they are merged
/// with a map that is already there. A node that is not a map replaces the value at `path`.
void SetValues(ConfigNode& root, const std::string& path, const ConfigNode& node);

/// Returns a value's place without its key: "run.yaml:12:5" of "run.yaml:12:5: agents.0.cooling".
std::string PlaceOnly(const ConfigNode& node);

/// Returns the place for messages about `key` of a map: its value, or the map if it lacks the key.
ConfigNode PlaceOf(const ConfigNode& map, std::string_view key);

/// Returns the value as one line: [a, {b: c}].
std::string FlowText(const ConfigNode& node);

}  // namespace emplace
