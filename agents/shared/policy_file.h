#pragma once

// Settings in policy files, and agents that can save their policy at the end of a search. A policy
// file holds the words of the policy (state.h), then a line `settings`, then the settings with
// which the policy was trained, as YAML. Readers of the words alone ignore the rest.

#include <iosfwd>
#include <optional>
#include <string>

#include "framework/config/config_node.h"

namespace emplace {

/// An agent that learns a policy and can start from a saved one (setting `policy`).
class PolicySource {
 public:
  virtual ~PolicySource() = default;
  /// Returns whether the agent learns with its settings.
  virtual bool learns_policy() const { return true; }
  /// Writes the current policy in the format of PolicyTrainer::SavePolicy().
  virtual void SavePolicy(std::ostream& out) = 0;
};

/// Returns the text of a policy file.
/// @param policy    output of SavePolicy()
/// @param settings  all settings of the agent in the format of AgentEntry::resolve_settings(). The
///   settings for the source of the weights (`policy`, `network`) are omitted
std::string PolicyFileText(const std::string& policy, const std::string& settings);

/// Reads the settings with which the policy of a file was trained.
/// @param path  "default" and "" mean no file
/// @return nullopt if the file is missing, belongs to another agent, or has no settings (files of
///   earlier versions); the agent's own reader reports such errors
/// @throws InputError naming the file if the settings are not YAML
std::optional<ConfigNode> TrainedSettings(const std::string& path, const std::string& agent);

}  // namespace emplace
