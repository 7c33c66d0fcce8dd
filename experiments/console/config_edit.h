#pragma once

// Changing configs before they are read: values from the command line, from another config, and
// values as text. Every value keeps the place where it was written, for messages.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// Puts values from the command line into a config.
/// @param settings  "key=value" texts, the arguments of --set, that replace or add keys; the key
///   may be dotted ("budget.seconds", "agents.LABEL.setting": see PathOfLabels()), the value is
///   YAML
/// @throws InputError naming --set for a text without "=", an unknown label or a value that is no
///   YAML
void ApplySettings(ConfigNode& root, const std::vector<std::string>& settings);

/// The config in a YAML file after ApplySettings().
/// @throws InputError as ConfigNode::FromFile() and ApplySettings() do
ConfigNode ReadWithSettings(const std::filesystem::path& path,
                            const std::vector<std::string>& settings);

/// A dotted path in which labels of agents are their places in the list: "agents.seq2seq.hidden" ->
/// "agents.2.hidden". Lists of agents are those called agents, train and test. An entry that is a
/// name alone becomes a map in `root` where the path leads into it.
/// @param where  of the path, for messages
/// @throws InputError for a label that no agent of the list has
std::string PathOfLabels(ConfigNode& root, std::string_view path, const std::string& where);

/// Puts the values of map `node` into `root` under `path` one by one, so that they join a map that
/// is already there. A node that is no map replaces what is at `path`.
void SetValues(ConfigNode& root, const std::string& path, const ConfigNode& node);

/// The place of a value without its key: "run.yaml:12:5" of "run.yaml:12:5: agents.0.cooling".
std::string PlaceOnly(const ConfigNode& node);

/// Where a message about `key` of a map points to: the key's value, or the map if it has no such
/// key.
ConfigNode PlaceOf(const ConfigNode& map, std::string_view key);

/// The value as one line: [a, {b: c}].
std::string FlowText(const ConfigNode& node);

}  // namespace emplace
