#include "agents/learned_local_search/learned_local_search_agent.h"

#include "agents/learned_local_search/ranked_search.h"

namespace emplace {

LearnedLocalSearchAgent::LearnedLocalSearchAgent(const AgentContext& context, const Config& config)
    : MultilevelSearch("learned_local_search",
                       context,
                       config.start,
                       config.coarsest,
                       config.effort,
                       config.flat_cycles),
      config_(config),
      scorer_(config.ranking == "none" ? nullptr : MoveScorer::Read(config.policy)) {
  config.Validate();
}

std::unique_ptr<LocalSearchAgent> LearnedLocalSearchAgent::SearchOf(const AgentContext& level,
                                                                    std::int64_t) const {
  return std::make_unique<RankedSearch>(level, config_, scorer_);
}

}  // namespace emplace
