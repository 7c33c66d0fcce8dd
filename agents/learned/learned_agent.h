#pragma once

// Multilevel search (../multilevel/multilevel_search.h) that searches each level by
// ranked_search.h: what is tried there is chosen by a network that was trained on other graphs and
// clusters. Its features mean the same for groups of any size, so that one network serves all
// levels.
//
// `ranking: none` leaves the network out: the same search, its moves in random order.

#include <cstdint>
#include <memory>

#include "agents/learned/learned_config.h"
#include "agents/learned/move_scorer.h"
#include "agents/multilevel/multilevel_search.h"

namespace emplace {

class LearnedTrainer;

class LearnedAgent final : public MultilevelSearch {
 public:
  using Config = LearnedConfig;
  using Trainer = LearnedTrainer;
  /// @throws SettingError for an unknown start, a policy that cannot be read, or settings that
  ///   contradict each other
  LearnedAgent(const AgentContext& context, const Config& config);

 private:
  std::unique_ptr<ImprovementAgent> SearchOf(const AgentContext& level,
                                             std::int64_t effort) const override;

  Config config_;
  std::shared_ptr<const MoveScorer> scorer_;  // nullptr: none
};

}  // namespace emplace
