#pragma once

// The policy gradient that learning agents share. An agent samples K placements on a tape (all in
// one pass), has them evaluated, and hands over their log-probabilities; this makes the loss,
// differentiates it, and takes one step of the optimiser:
//
//   loss = 1/K' sum_i A_i log p(P_i) - entropy_weight * entropy - imitation_weight * log p(P_best)
//
// A_i = R(P_i) - baseline, optionally divided by its root mean square over the batch [ours]; R is a
// cost, so that descent makes bad placements less likely. After `valid_only_after` updates only
// placements that fit count (ICML 2017 [R], ICLR 2018 [R]). The imitation term [ours] pulls towards
// the best placement so far. Log-probabilities and entropies are divided by the number of decisions
// of a placement where `per_decision` says so [ours]: step sizes then mean the same on graphs of
// all sizes.
//
// A policy that has settled explores no more: what it has not found by then it will not find. After
// `patience` updates without a better placement the search begins anew with other random weights
// [ours]; schedules and the placement to imitate begin anew with it.

#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "agents/common/state.h"
#include "agents/policy_gradient/baseline.h"
#include "agents/policy_gradient/reward.h"
#include "framework/learn/optimizer.h"
#include "framework/learn/tape.h"
#include "framework/search/evaluator.h"
#include "framework/search/update_table.h"

namespace emplace {

struct PolicyGradientConfig {
  int samples = 8;
  RewardConfig reward;
  BaselineConfig baseline;
  bool normalize_advantages = false;
  bool per_decision = false;
  int valid_only_after = 0;  ///< updates; 0: every placement always counts
  double entropy_weight = 0;
  int entropy_updates = 0;  ///< the weight falls linearly to 0 over these; 0: it stays
  double imitation_weight = 0;
  int patience = 0;  ///< updates without a better placement before a restart; 0: never restarts
  OptimizerConfig optimizer;
  /// Visits its fields into the agent's settings (no map of its own): "samples", "reward", ...
  void Visit(FieldVisitor& v);
};

class PolicyGradient {
 public:
  /// @param parameters  outlives this; complete
  /// @throws SettingError
  PolicyGradient(const PolicyGradientConfig& config,
                 std::shared_ptr<const Problem> problem,
                 ParameterSet& parameters);

  /// Placements to sample now: `samples`, or what the budget leaves (at least 1).
  int NumSamples(const Evaluator& evaluator) const;
  /// The best placement since the last restart, if the imitation term wants its log-probability.
  const Placement* ToImitate() const;

  struct Sampled {
    Var log_probability;  ///< [K, 1] of the sampled placements
    Var entropy;          ///< [1, 1] sum over a placement's decisions, mean over the samples
    std::optional<Var> best_log_probability;  ///< [1, 1] of *ToImitate(), if there is one
    int num_decisions = 1;                    ///< of one placement
  };
  /// Evaluates the placements, differentiates, steps. The tape is cleared.
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value" when the loss or a
  ///   gradient is not (counted from 0, as the rows of table()); BudgetExhausted
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              Evaluator& evaluator);
  /// The same with placements that are evaluated already.
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              std::span<const Outcome> outcomes);

  /// Stops the search with the RunError of Update, when sampling already met a value that is not a
  /// number. @param tape  the recording so far
  [[noreturn]] void ThrowNotFinite(const Tape& tape) const;

  /// True after `patience` updates without a better placement. Restart() is then due.
  bool Stale() const { return config_.patience > 0 && stale_updates_ >= config_.patience; }
  /// Takes over the values of newly drawn parameters and forgets all but the table.
  /// @param fresh  names and shapes as those given to the constructor
  void Restart(const ParameterSet& fresh);

  /// Since the last restart.
  std::int64_t updates() const { return optimizer_.updates(); }
  /// Columns: restarts, evaluations, loss, entropy (mean per decision, nats), gradient_norm,
  /// learning_rate, baseline, mean_cost, best_step_time_ns (since the last restart), feasible
  /// (share).
  const UpdateTable& table() const { return table_; }

  /// Parameters, moments, baseline, best placement, table.
  void Save(StateWriter& writer) const;
  void Load(StateReader& reader);

 private:
  struct Signal {
    Matrix weights;  // [K, 1] A_i / K', 0 for a placement that does not count
    double mean_cost, feasible;
  };
  /// Keeps the best and moves the baseline.
  Signal Take(std::span<const Placement> placements, std::span<const Outcome> outcomes);
  Var Loss(Tape& tape, const Sampled& sampled, const Matrix& weights) const;

  PolicyGradientConfig config_;
  std::shared_ptr<const Problem> problem_;
  ParameterSet& parameters_;
  Reward reward_;
  Baseline baseline_;
  Optimizer optimizer_;
  std::int64_t evaluations_ = 0;
  int restarts_ = 0, stale_updates_ = 0;
  std::optional<Placement> best_;
  Outcome best_outcome_;
  UpdateTable table_;
};

}  // namespace emplace
