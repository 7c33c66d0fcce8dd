#pragma once

#include "framework/search/agent.h"

namespace emplace {

/// Every agent of agents/, by name; registry.cc has one line for each.
const AgentRegistry& AllAgents();

}  // namespace emplace
