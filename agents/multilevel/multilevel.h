#pragma once

// Multilevel search: groups are merged into fewer and fewer, the coarsest are placed, and the
// placement is improved on every level on the way back, always by what the evaluator says of the
// whole graph.
//
// A cycle coarsens (levels.h) until `coarsest` groups remain or nothing merges, no group costing
// more than 4 / coarsest of the whole, and then searches on each level from the coarsest to the
// given groups by large_neighborhood.h, for `effort` evaluations, and on as long as as many bring a
// thousandth. The first cycle begins at the best of the placements that `start` names for the
// coarsest groups. All further ones merge only what is on one device in the best placement so far,
// and begin at that; each has 1.5 times the effort of the one before. A step is a level.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// References: G. Karypis, V. Kumar, A Fast and High Quality Multilevel Scheme for Partitioning
// Irregular Graphs, SIAM Journal on Scientific Computing 20 (1998); C. Walshaw, Multilevel
// Refinement for Combinatorial Optimisation Problems, Annals of Operations Research 131 (2004), for
// cycles.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/improvement/improvement_agent.h"
#include "agents/large_neighborhood/large_neighborhood.h"
#include "framework/config/fields.h"

namespace emplace {

struct MultilevelConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf", "random"};
  int coarsest = 64;
  std::int64_t effort = 512;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "placements to begin at the best of, of given and of coarsest groups");
    v.Field("coarsest", coarsest, "groups on the coarsest level");
    v.Field("effort", effort, "evaluations per level of the first cycle");
  }
};

class MultilevelAgent final : public ImprovementAgent {
 public:
  using Config = MultilevelConfig;
  /// @throws SettingError for an unknown start or a number out of range
  MultilevelAgent(const AgentContext& context, const Config& config);

 private:
  void Improve(Evaluator& evaluator) override;
  void Adopted() override {}  // the next cycle begins at it
  void SaveSearch(StateWriter& writer) const override;
  void LoadSearch(StateReader& reader) override;
  /// Makes the levels of a cycle of merging_ and first_.
  void BuildLevels();

  std::shared_ptr<const Problem> problem_;
  Config config_;
  int cycle_ = 0;
  int left_ = 0;     // levels of the cycle still to be searched; 0: it is over
  Rng merging_;      // generator when the cycle began
  Placement first_;  // best placement when the cycle began
  std::vector<std::shared_ptr<const Problem>> levels_;  // from the given groups to the coarsest
};

}  // namespace emplace
