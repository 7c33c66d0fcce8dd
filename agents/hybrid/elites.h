#pragma once

// A population of good placements that differ.

#include <vector>

#include "agents/common/state.h"
#include "agents/improvement/improvement_agent.h"
#include "framework/search/problem.h"

namespace emplace {

/// Groups that are on another device in `b`, its equal devices renamed to resemble `a`
/// (../genetic/crossover.h).
int DistanceBetween(const Problem& problem, const Placement& a, const Placement& b);

struct Elite {
  ScoredPlacement at;
  bool refined = false;  ///< the last refinement brought nothing
};

class Elites {
 public:
  /// @param problem  outlives this
  /// @param most     members, at least 1
  /// @param niche    groups in which two members differ at least
  Elites(const Problem& problem, int most, int niche)
      : problem_(problem), most_(most), niche_(niche) {}

  /// A newcomer that differs from a member in fewer than `niche` groups, or has its score, takes
  /// the place of the nearest of these if it is better, and is dropped if not. Any other one
  /// becomes a member, if need be in place of the worst, unless it is worse than all.
  void Insert(Elite elite);
  /// The best member that is not refined, taken out; false: there is none.
  bool TakeUnrefined(Elite& elite);
  /// Whether a member is as good; it then most likely is the same placement.
  bool Has(const Score& score) const;
  void Clear() { members_.clear(); }
  /// Best first.
  const std::vector<Elite>& members() const { return members_; }
  std::vector<const Placement*> placements() const;

  void Save(StateWriter& writer) const;
  void Load(StateReader& reader);

 private:
  const Problem& problem_;
  int most_, niche_;
  std::vector<Elite> members_;
};

}  // namespace emplace
