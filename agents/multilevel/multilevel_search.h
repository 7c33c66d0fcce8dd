#pragma once

// Multilevel search: groups are merged step by step, the coarsest groups are placed, and the
// placement is improved on every level on the way back to the given groups. Placements are always
// evaluated on the whole graph. The derived agent supplies the search of a level.
//
// A cycle coarsens (levels.h) until `coarsest` groups remain or no more groups merge; no merged
// group costs more than 4 / coarsest of the whole. It then searches each level, from the coarsest
// to the given groups, for `effort` evaluations, and repeats this while they improve the placement
// by a thousandth. The first `flat_cycles` cycles have one level, the given groups. The first cycle
// begins at the best of the placements that `start` names for its coarsest level. Every further
// cycle merges only groups on the same device in the best placement so far, begins at that
// placement, and has 1.5 times the effort of the previous cycle. A step is a level.
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

#include "agents/shared/local_search/local_search_agent.h"

namespace emplace {

class MultilevelSearch : public LocalSearchAgent {
 public:
  /// @param coarsest     groups on the coarsest level
  /// @param effort       evaluations per level of the first cycle
  /// @param flat_cycles  first cycles that search the given groups alone
  /// @throws SettingError for an unknown start
  MultilevelSearch(std::string name,
                   const AgentContext& context,
                   std::vector<std::string> start,
                   int coarsest,
                   std::int64_t effort,
                   int flat_cycles = 0);

 protected:
  /// Returns a search of one level. Unless it adopts a placement, it begins at its own starts.
  /// @param level   context with the problem of the level and its own seed
  /// @param effort  minimum number of evaluations of the search
  virtual std::unique_ptr<LocalSearchAgent> SearchOf(const AgentContext& level,
                                                     std::int64_t effort) const = 0;

 private:
  void Improve(Evaluator& evaluator) final;
  void Adopted() final {}  // the next cycle begins at the adopted placement
  void VisitSearch(StateVisitor& v) final;
  /// Builds the levels of a cycle from merging_ and first_.
  void BuildLevels();

  std::shared_ptr<const Problem> problem_;
  int coarsest_;
  std::int64_t effort_;
  int flat_cycles_;
  int cycle_ = 0;
  int left_ = 0;     // levels of the cycle still to be searched; 0: the cycle is complete
  Rng merging_;      // generator at the beginning of the cycle
  Placement first_;  // best placement at the beginning of the cycle
  std::vector<std::shared_ptr<const Problem>> levels_;  // from the given groups to the coarsest
};

}  // namespace emplace
