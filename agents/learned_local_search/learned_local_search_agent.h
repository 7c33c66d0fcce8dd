#pragma once

// Multilevel search (agents/multilevel/multilevel_search.h) that searches each level by
// ranked_search.h: a network, trained on other graphs and clusters, chooses the moves to try. Its
// features have the same meaning for groups of any size, so one network serves all levels.
//
// `ranking: none` leaves out the network: the search is the same, with its moves in random order.

#include <cstdint>
#include <memory>

#include "agents/learned_local_search/learned_local_search_config.h"
#include "agents/learned_local_search/move_scorer.h"
#include "agents/multilevel/multilevel_search.h"

namespace emplace {

class LearnedLocalSearchTrainer;

class LearnedLocalSearchAgent final : public MultilevelSearch {
 public:
  using Config = LearnedLocalSearchConfig;
  using Trainer = LearnedLocalSearchTrainer;
  /// @throws SettingError for an unknown start, a policy that cannot be read, or settings that
  ///   contradict each other
  LearnedLocalSearchAgent(const AgentContext& context, const Config& config);

 private:
  std::unique_ptr<LocalSearchAgent> SearchOf(const AgentContext& level,
                                             std::int64_t effort) const override;

  Config config_;
  std::shared_ptr<const MoveScorer> scorer_;  // nullptr: none
};

}  // namespace emplace
