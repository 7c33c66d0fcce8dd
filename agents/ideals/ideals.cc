#include "agents/ideals/ideals.h"

#include "agents/ideals/chain_split.h"
#include "framework/search/compiled_period.h"

namespace emplace {

IdealsAgent::IdealsAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("ideals", context), max_ideals_(config.max_ideals) {
}

std::vector<Placement> IdealsAgent::Construct() const {
  return {Split(CompiledPeriod(problem()), max_ideals_, interrupt()).placement};
}

}  // namespace emplace
