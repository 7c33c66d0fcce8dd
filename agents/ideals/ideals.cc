#include "agents/ideals/ideals.h"

#include "agents/ideals/chain_split.h"
#include "framework/config/setting_error.h"
#include "framework/search/compiled_period.h"

namespace emplace {

IdealsAgent::IdealsAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("ideals", context), max_ideals_(config.max_ideals) {
  RequireRange("max_ideals", config.max_ideals, 0, 1e7);
}

std::vector<Placement> IdealsAgent::Construct() const {
  return {Split(CompiledPeriod(problem()), max_ideals_, interrupt()).placement};
}

}  // namespace emplace
