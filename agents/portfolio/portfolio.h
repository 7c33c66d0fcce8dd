#pragma once

// Several searches that take turns and share the best placement.
//
// The members are multilevel, large_neighborhood, tabu and genetic with their default settings. A
// step is one member's turn: it adopts the best placement of all if that is better than its own,
// and searches until it has made `turn` evaluations or more. The first turns go round. From then on
// turns are drawn with probabilities in proportion to
//
//   0.1 + r / (largest r of all),     r' = r / 2 + g / 2 behind each turn of the member,
//
// g = ln(T / T') / evaluations of the turn, T and T' the best step time before and behind it (1
// instead of the logarithm where less memory is missing), so that who finds more searches more.
//
// Turns are counted in evaluations, not in seconds: the same seed gives the same search.
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
  void Visit(FieldVisitor& v) {
    v.Field("start", start, "placements to begin at the best of");
    v.Field("turn", turn, "evaluations until it is another search's turn");
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
  void Add(std::uint64_t seed);
  /// @param draw_seed  of each member
  void MakeMembers(const std::function<std::uint64_t()>& draw_seed);
  void Begin(const std::vector<ScoredPlacement>& starts) override;
  std::size_t DrawTurn();
  void Improve(Evaluator& evaluator) override;
  void SaveSearch(StateWriter& writer) const override;
  void LoadSearch(StateReader& reader) override;

  AgentContext context_;
  Config config_;
  std::vector<Member> members_;
};

}  // namespace emplace
