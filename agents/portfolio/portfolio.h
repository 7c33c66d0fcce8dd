#pragma once

// Several searches side by side that share the best placement.
//
// The members are abreast / 2 of multilevel, and one each of tabu, large_neighborhood, genetic and
// hill_climb (32 moves at a time), with their default settings and seeds of their own. A step is a
// turn of `abreast` of them, on as many threads as the evaluator has. A member whose last turn
// brought it nothing better first adopts the best placement of all. Each then searches until it has
// made l * n evaluations or more. n is 128 in the first turn, twice as many in each further one, at
// most `turn` (on larger graphs than 10,000 ops as many as take the time of `turn` on one of so
// many, but no fewer than 128). l is 1 in a member's first turn, then
//
//   max(1/8, r / (largest r of those in the turn)).
//
// All multilevel searches take part in every turn. The others go round at first; from then on they
// are drawn one after another with probabilities in proportion to
//
//   0.1 + r / (largest r of all),      r' = r / 2 + g / 2 behind each turn of the member,
//
// g = ln(T / T') / evaluations of the turn, T the best step time of all before it and T' the
// member's behind it, 0 if that is no better (1 instead of the logarithm where less memory is
// missing), so that who finds more searches more.
//
// For the period period_multilevel takes the place of multilevel; a turn of it is one step, which
// counts n evaluations. n is 16 * `turn` at most, since evaluations are quicker.
//
// On graphs of more than 10,000 ops, of which only few placements can be evaluated, a turn is one
// of one multilevel search and one other member, one after the other: there the threads share each
// batch.
//
// After 16 turns without a better placement one of the multilevel searches, each in its turn,
// begins anew, with its own starts: it may find a better basin.
//
// Turns are counted in evaluations, not in seconds, and members share what they found at the end of
// a turn only: the same seed gives the same search, whatever the threads and ranks.
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

#include "agents/shared/improvement/improvement_agent.h"
#include "agents/starts/start_help.h"
#include "framework/config/fields.h"

namespace emplace {

struct PortfolioConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf", "random"};
  std::int64_t turn = 2048;
  int abreast = 4;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("turn",
            turn,
            Between(1, 1e12),
            "evaluations of a search until what was found is shared, at most");
    v.Field("abreast",
            abreast,
            Between(2, 1000),
            "searches at a time, half of them multilevel; threads and ranks change no result");
  }
};

class PortfolioAgent final : public ImprovementAgent {
 public:
  using Config = PortfolioConfig;
  /// @throws SettingError for an unknown start
  PortfolioAgent(const AgentContext& context, const Config& config);

 private:
  struct Member {
    std::unique_ptr<ImprovementAgent> agent;
    double rate = 0;     // r
    bool tried = false;  // had a turn
    bool stale = true;   // its last turn brought it nothing better
  };
  template <class A>
  Member Make(std::uint64_t seed, typename A::Config settings = {}) const;
  Member MakeMultilevel(std::uint64_t seed) const;
  /// @param draw_seed  of each member
  void MakeMembers(const std::function<std::uint64_t()>& draw_seed);
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  /// Indices of the members whose turn it is.
  std::vector<std::size_t> DrawTurn();
  void Improve(Evaluator& evaluator) override;
  void VisitSearch(StateVisitor& v) override;

  AgentContext context_;
  Config config_;
  bool is_period_ = false, is_large_ = false;
  int abreast_ = 0, num_multilevel_ = 0;
  std::int64_t turn_ = 0, longest_turn_ = 0;  // evaluations
  int stale_turns_ = 0;                       // since the best was found, or a search began anew
  int next_anew_ = 0;                         // multilevel search
  std::vector<Member> members_;
};

}  // namespace emplace
