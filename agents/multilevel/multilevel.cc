#include "agents/multilevel/multilevel.h"

#include "agents/large_neighborhood/large_neighborhood.h"

namespace emplace {

MultilevelAgent::MultilevelAgent(const AgentContext& context, const Config& config)
    : MultilevelSearch("multilevel", context, config.start, config.coarsest, config.effort),
      config_(config) {
}

std::unique_ptr<LocalSearchAgent> MultilevelAgent::SearchOf(const AgentContext& level,
                                                            std::int64_t effort) const {
  return std::make_unique<LargeNeighborhoodAgent>(
      level, LargeNeighborhoodConfig{.start = config_.start, .cycle = effort});
}

}  // namespace emplace
