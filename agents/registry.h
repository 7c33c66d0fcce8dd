#pragma once

#include <string>

#include "framework/search/agent.h"

namespace emplace {

/// Returns all agents of agents/ by name; registry.cc has one line for each. Names that begin with
/// "python:" are refused with instructions until LoadAgentsBy() registers a loader for them.
const AgentRegistry& AllAgents();

/// Calls AgentRegistry::AddLoader() of AllAgents(). Must be called before any search begins.
void LoadAgentsBy(const std::string& prefix, AgentLoader load);

}  // namespace emplace
