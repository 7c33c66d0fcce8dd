#include "agents/learned/learned_agent.h"

#include "agents/learned/ranked_search.h"

namespace emplace {

LearnedAgent::LearnedAgent(const AgentContext& context, const Config& config)
    : MultilevelSearch("learned", context, config.start, config.coarsest, config.effort),
      config_(config),
      scorer_(config.ranking == "none" ? nullptr : MoveScorer::Read(config.policy)) {
  config.Validate();
}

std::unique_ptr<ImprovementAgent> LearnedAgent::SearchOf(const AgentContext& level,
                                                         std::int64_t) const {
  return std::make_unique<RankedSearch>(level, config_, scorer_);
}

}  // namespace emplace
