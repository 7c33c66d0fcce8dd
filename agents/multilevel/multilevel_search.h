#pragma once

// Multilevel search: groups are merged into fewer and fewer, the coarsest are placed, and the
// placement is improved on every level on the way back, always by what the evaluator says of the
// whole graph. What searches a level is up to the derived agent.
//
// A cycle coarsens (levels.h) until `coarsest` groups remain or nothing merges, no group costing
// more than 4 / coarsest of the whole, and then searches on each level from the coarsest to the
// given groups for `effort` evaluations, and on as long as as many bring a thousandth. The first
// cycle begins at the best of the placements that `start` names for the coarsest groups. All
// further ones merge only what is on one device in the best placement so far, and begin at that;
// each has 1.5 times the effort of the one before. A step is a level.
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

#include "agents/shared/improvement/improvement_agent.h"

namespace emplace {

class MultilevelSearch : public ImprovementAgent {
 public:
  /// @param coarsest  groups on the coarsest level
  /// @param effort    evaluations per level of the first cycle
  /// @throws SettingError for an unknown start
  MultilevelSearch(std::string name,
                   const AgentContext& context,
                   std::vector<std::string> start,
                   int coarsest,
                   std::int64_t effort);

 protected:
  /// A search of one level. Unless it adopts a placement, it begins at its own starts.
  /// @param level   its problem, a seed of its own
  /// @param effort  evaluations that it has at least
  virtual std::unique_ptr<ImprovementAgent> SearchOf(const AgentContext& level,
                                                     std::int64_t effort) const = 0;

 private:
  void Improve(Evaluator& evaluator) final;
  void Adopted() final {}  // the next cycle begins at it
  void VisitSearch(StateVisitor& v) final;
  /// Makes the levels of a cycle of merging_ and first_.
  void BuildLevels();

  std::shared_ptr<const Problem> problem_;
  int coarsest_;
  std::int64_t effort_;
  int cycle_ = 0;
  int left_ = 0;     // levels of the cycle still to be searched; 0: it is over
  Rng merging_;      // generator when the cycle began
  Placement first_;  // best placement when the cycle began
  std::vector<std::shared_ptr<const Problem>> levels_;  // from the given groups to the coarsest
};

}  // namespace emplace
