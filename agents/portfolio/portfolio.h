#pragma once

// Several concurrent searches that share the best placement.
//
// The members are concurrent / 2 multilevel searches, and one each of tabu, large_neighborhood,
// genetic and hill_climb (32 moves at a time), with their default settings and their own seeds. A
// step is a turn of `concurrent` members, on as many threads as the evaluator has. A member whose
// last turn found nothing better first adopts the best placement of all. Each member then searches
// until it has made l * n evaluations or more. n is 128 in the first turn and doubles in each
// further turn, up to `turn`. (On a graph of p > 10,000 ops n is at most `turn` * 10,000 / p, but
// at least 128.) l is 1 in a member's first turn, then
//
//   max(1/8, r / (largest r of the members in the turn)).
//
// All multilevel searches take part in every turn. Each of the others has one turn first. After
// that they are drawn without replacement with probabilities proportional to
//
//   0.1 + r / (largest r of all),      r' = r / 2 + g / 2 after each turn of the member,
//
// where g = ln(T / T') / evaluations of the turn, T is the best step time of all members before the
// turn, and T' that of the member after it. g is 0 if the member found nothing better; the
// logarithm is replaced by 1 if less memory is missing. Searches that improve the best placement
// thus get a larger share of the evaluations.
//
// For the period objective, period_multilevel replaces multilevel. A turn of period_multilevel is
// one step, which counts as n evaluations. n is at most 16 * `turn`, since evaluations are faster.
//
// On graphs of more than 10,000 ops, for which only few placements can be evaluated, a turn
// consists of one multilevel search and one other member. They run one after the other, and the
// threads share each batch.
//
// After 16 turns without a better placement, one of the multilevel searches (each in its turn)
// restarts from its own starts, since it may find a better basin.
//
// The length of a turn is counted in evaluations, not in seconds, and members share results only at
// the end of a turn. The same seed therefore gives the same search for any number of threads and
// ranks.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: C. P. Gomes, B. Selman, Algorithm Portfolios, Artificial Intelligence 126 (2001).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct PortfolioConfig {
  std::vector<std::string> start = SearchStarts();
  std::int64_t turn = 2048;
  int concurrent = 4;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("turn",
            turn,
            Between(1, 1e12),
            "largest number of evaluations of a search until the best placements are shared");
    v.Field("concurrent",
            concurrent,
            Between(2, 1000),
            "number of concurrent searches, half of them multilevel; threads and ranks change no "
            "result");
  }
};

class PortfolioAgent final : public LocalSearchAgent {
 public:
  using Config = PortfolioConfig;
  /// @throws SettingError for an unknown start
  PortfolioAgent(const AgentContext& context, const Config& config);

 private:
  struct Member {
    std::unique_ptr<LocalSearchAgent> agent;
    double rate = 0;     // r
    bool tried = false;  // had a turn
    bool stale = true;   // its last turn found nothing better
  };
  template <class A>
  Member Make(std::uint64_t seed, typename A::Config settings = {}) const;
  Member MakeMultilevel(std::uint64_t seed) const;
  /// @param draw_seed  called for the seed of each member
  void MakeMembers(const std::function<std::uint64_t()>& draw_seed);
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  /// Returns the indices of the members of the next turn.
  std::vector<std::size_t> DrawTurn();
  void Improve(Evaluator& evaluator) override;
  void VisitSearch(StateVisitor& v) override;

  AgentContext context_;
  Config config_;
  bool is_period_ = false, is_large_ = false;
  int concurrent_ = 0, num_multilevel_ = 0;
  std::int64_t turn_ = 0, longest_turn_ = 0;  // evaluations
  int stale_turns_ = 0;                       // since the last better placement or restart
  int next_anew_ = 0;                         // multilevel search that restarts next
  std::vector<Member> members_;
};

}  // namespace emplace
