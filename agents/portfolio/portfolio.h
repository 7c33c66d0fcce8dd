#pragma once

// Several searches side by side that share the best placement.
//
// The members are abreast / 2 of multilevel, and one each of tabu, large_neighborhood, genetic and
// hill_climb (32 moves at a time), with their default settings and seeds of their own. A step is a
// turn of `abreast` of them, on as many threads as the evaluator has: each adopts the best
// placement of all if that is better than its own, and searches until it has made as many
// evaluations as the turn has or more. The first turn has 128, each further one twice as many, at
// most `turn` (on graphs of more than 10,000 ops as many as take the time of `turn` on one of so
// many, but no fewer than 128). All multilevel searches take part in every turn. The others go
// round at first; from then on they are drawn one after another with probabilities in
// proportion to
//
//   0.1 + r / (largest r of all),     r' = r / 2 + g / 2 behind each turn of the member,
//
// g = ln(T / T') / evaluations of the turn, T the best step time of all before it and T' the
// member's behind it, 0 if that is no better (1 instead of the logarithm where less memory is
// missing), so that who finds more searches more.
//
// For the period period_multilevel takes the place of multilevel; a turn of it is one step, and
// those of the others are up to 16 * `turn` long, since evaluations are quicker.
//
// Turns are counted in evaluations, not in seconds, and members share what they found at the end of
// a turn only: the same seed gives the same search, whatever the threads.
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

#include "agents/improvement/improvement_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct PortfolioConfig {
  std::vector<std::string> start = {"single", "contiguous", "heft", "etf", "random"};
  std::int64_t turn = 2048;
  int abreast = 4;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "placements to begin at the best of");
    v.Field("turn", turn, "evaluations of a search until what was found is shared, at most");
    v.Field("abreast",
            abreast,
            "searches at a time, half of them multilevel; threads change no result");
  }
};

class PortfolioAgent final : public ImprovementAgent {
 public:
  using Config = PortfolioConfig;
  /// @throws SettingError for an unknown start or a number out of range
  PortfolioAgent(const AgentContext& context, const Config& config);

 private:
  struct Member {
    std::unique_ptr<ImprovementAgent> agent;
    double rate = 0;     // r
    bool tried = false;  // had a turn
  };
  template <class A>
  void Add(std::uint64_t seed, typename A::Config settings = {});
  /// @param draw_seed  of each member
  void MakeMembers(const std::function<std::uint64_t()>& draw_seed);
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  /// Indices of the members whose turn it is.
  std::vector<std::size_t> DrawTurn();
  void Improve(Evaluator& evaluator) override;
  void SaveSearch(StateWriter& writer) const override;
  void LoadSearch(StateReader& reader) override;

  AgentContext context_;
  Config config_;
  bool is_period_ = false;
  int num_multilevel_ = 0;
  std::int64_t turn_ = 0, longest_turn_ = 0;  // evaluations
  std::vector<Member> members_;
};

}  // namespace emplace
