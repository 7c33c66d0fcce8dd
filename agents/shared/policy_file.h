#pragma once

// Policy files beyond the weights: the settings that a policy was trained with, and agents whose
// policy can be saved when a search ends. After the words of the policy (state.h) stand a line
// `settings` and the settings as YAML; readers of the words alone do not see them.

#include <iosfwd>
#include <optional>
#include <string>

#include "framework/config/config_node.h"

namespace emplace {

/// An agent that learns a policy which it can begin with another time, by its setting `policy`.
class PolicySource {
 public:
  virtual ~PolicySource() = default;
  /// Whether it learns at all with its settings.
  virtual bool learns_policy() const { return true; }
  /// The policy as it is, as PolicyTrainer::SavePolicy().
  virtual void SavePolicy(std::ostream& out) = 0;
};

/// The text of a policy file.
/// @param policy    of SavePolicy()
/// @param settings  all of the agent, as AgentEntry::resolve_settings() writes them. Those that say
///   where the weights come from (`policy`, `network`) are left out
std::string PolicyFileText(const std::string& policy, const std::string& settings);

/// Reads the settings with which the policy of a file was trained.
/// @param path  "default" and "": no file
/// @return nothing if the file is missing, belongs to another agent, or has no settings, as files
/// of
///   earlier versions; the agent's own reader reports such errors
/// @throws InputError naming the file if the settings are no YAML
std::optional<ConfigNode> TrainedSettings(const std::string& path, const std::string& agent);

}  // namespace emplace
