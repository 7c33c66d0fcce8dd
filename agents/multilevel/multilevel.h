#pragma once

// Multilevel search (multilevel_search.h) with large_neighborhood.h as the search of each level.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/multilevel/multilevel_search.h"
#include "framework/config/fields.h"

namespace emplace {

struct MultilevelConfig {
  std::vector<std::string> start = SearchStarts();
  int coarsest = 64;
  std::int64_t effort = 512;
  void Visit(FieldVisitor& v) {
    v.Field("start",
            start,
            "initial placements of the given and of the coarsest groups; the best one is used");
    v.Field("coarsest", coarsest, Between(1, 1e9), "groups on the coarsest level");
    v.Field("effort", effort, Between(1, 1e12), "evaluations per level of the first cycle");
  }
};

class MultilevelAgent final : public MultilevelSearch {
 public:
  using Config = MultilevelConfig;
  /// @throws SettingError for an unknown start
  MultilevelAgent(const AgentContext& context, const Config& config);

 private:
  std::unique_ptr<LocalSearchAgent> SearchOf(const AgentContext& level,
                                             std::int64_t effort) const override;
  Config config_;
};

}  // namespace emplace
