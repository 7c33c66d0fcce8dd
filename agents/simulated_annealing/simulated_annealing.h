#pragma once

// Simulated annealing with reheats.
//
// The energy of a placement with step time T [ns] and missing memory m [B] is
//
//   E = ln(max(T, 1)) + [m > 0] * deficit_penalty * (1 + m / M)
//
// with M the total finite memory of the devices [B]. Differences of E are relative changes of the
// step time. `chains` placements are annealed concurrently. A round proposes one move
// (agents/shared/moves.h) for each chain, evaluates the moves as one batch, and accepts each with
// probability min(1, exp((E - E') / temperature)).
//
// Temperature. The first step evaluates the placements named by `start`, begins all chains at the
// best of them, and evaluates `samples` moves from there. The initial temperature is (median of
// their positive changes of E, the upper one of an even number) / ln(1 / initial_acceptance), or
// 0.01 if no move increased E. The planned evaluations are divided into reheats + 1 cycles of equal
// length. In cycle k, after a share q in [0, 1] of the cycle,
//
//   temperature = initial * reheat^k * final_ratio^q.
//
// A new cycle begins with all chains at the best placement so far. The number of planned
// evaluations is the rest of the budget when the search begins, or `evaluations` if the budget does
// not limit them (a budget in seconds). After the planned evaluations, further cycles follow at the
// temperature of the last one.
//
// Ends only when no group has a choice; otherwise the budget ends it.
//
// Reference: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Optimization by Simulated Annealing,
// Science 220 (1983). The search of Z. Jia et al., FlexFlow, MLSys 2019, is similar, at a constant
// temperature.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/initial_placements/start_setting.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/config/fields.h"
#include "framework/search/agent.h"
#include "framework/search/outcome_table.h"

namespace emplace {

class StateVisitor;

struct AnnealingConfig {
  std::vector<std::string> start = SearchStarts();
  int chains = 1;
  int rounds = 64;
  int samples = 32;
  double initial_acceptance = 0.1;
  double final_ratio = 0.001;
  int reheats = 1;
  double reheat = 0.3;
  double deficit_penalty = 5;
  std::int64_t evaluations = 20000;
  MoveConfig moves;
  void Visit(FieldVisitor& v) {
    v.Field("start", start, kStartHelp);
    v.Field("chains",
            chains,
            Between(1, 1e6),
            "placements annealed concurrently and evaluated as one batch");
    v.Field("rounds", rounds, Between(1, 1e9), "moves of every chain per step");
    v.Field("samples", samples, Between(1, 1e6), "moves sampled to set the initial temperature");
    v.Field("initial_acceptance",
            initial_acceptance,
            Between(1e-9, 0.999),
            "probability of accepting a median worsening at the initial temperature");
    v.Field("final_ratio",
            final_ratio,
            Between(1e-12, 1),
            "temperature at a cycle's end relative to its beginning");
    v.Field("reheats", reheats, Between(0, 1e6), "cycles after the first");
    v.Field("reheat",
            reheat,
            Between(1e-9, 1),
            "initial temperature of a cycle relative to that of the one before");
    v.Field("deficit_penalty",
            deficit_penalty,
            AtLeast(0),
            "energy of missing memory, see the formula");
    v.Field("evaluations",
            evaluations,
            Between(1, 1e15),
            "planned length when the budget limits no evaluations");
    v.Group("moves", "proposed moves", [this](FieldVisitor& g) { moves.Visit(g); });
  }
};

class AnnealingAgent final : public Agent {
 public:
  using Config = AnnealingConfig;
  /// @throws SettingError for an unknown start
  AnnealingAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return started_ && !proposer_.any(); }
  void VisitState(StateVisitor& v) override;

  /// Returns the energy E of a score.
  double Energy(const Score& score) const;
  /// Returns the temperature after `used` evaluations.
  double Temperature(std::int64_t used) const;

 private:
  struct State {
    Placement placement;
    double energy = 0;
  };

  void Begin(Evaluator& evaluator);
  void Round(Evaluator& evaluator);
  /// Evaluates the i-th of `moves_` for the i-th chain and stores the results in `scores_`.
  void EvaluateMoves(Evaluator& evaluator);
  /// Stores the result of the i-th of `moves_` if it is the best placement by Better(), which,
  /// unlike the energy, ranks every feasible placement first.
  void Note(const Placement& base, std::size_t i);
  std::int64_t CycleAt(std::int64_t used) const;

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;  // ends the construction of starts early
  Config config_;
  MoveProposer proposer_;
  Rng rng_;
  double memory_ = 0;  // M [B]
  bool started_ = false;
  double initial_ = 0;
  std::int64_t planned_ = 0, used_ = 0, cycle_ = 0;
  std::vector<State> chains_;
  State best_;
  Score best_score_;
  // Buffers of one round.
  MoveLists moves_;
  OutcomeTable scores_;
  std::vector<DeviceIndex> rows_;  // [chains, num_groups]
};

}  // namespace emplace
