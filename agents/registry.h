#pragma once

#include <string>

#include "framework/search/agent.h"

namespace emplace {

/// Every agent of agents/, by name; registry.cc has one line for each. Names that begin with
/// "python:" are refused with what to do, until a loader for them is there (LoadAgentsBy()).
const AgentRegistry& AllAgents();

/// AgentRegistry::AddLoader() of AllAgents(). To be called before any search begins.
void LoadAgentsBy(const std::string& prefix, AgentLoader load);

}  // namespace emplace
