#pragma once

#include "framework/search/agent.h"

namespace emplace {

/// Every agent of the house: one sorted line each in registry.cc.
const AgentRegistry& AllAgents();

}  // namespace emplace
