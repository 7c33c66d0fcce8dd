#include "agents/max_load_dp/max_load_dp.h"

#include "agents/max_load_dp/chain_split.h"
#include "framework/search/compiled_period.h"

namespace emplace {

MaxLoadDpAgent::MaxLoadDpAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("max_load_dp", context), max_ideals_(config.max_ideals) {
}

std::vector<Placement> MaxLoadDpAgent::Construct() const {
  return {Split(CompiledPeriod(problem()), max_ideals_, interrupt()).placement};
}

}  // namespace emplace
