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
// With `ppo.epochs` E > 1 the batch is used for E steps (ppo.h). The first is the one above; before
// each of the others the agent scores the placements again, and the ratios of its probabilities to
// those that drew them, decision by decision, replace log p:
//
//   1/K' sum_i A_i sum_t r_it, clipped, or with beta sum_t KL_t(old || new); entropy and imitation
//   as before
//
// KL is exact for each decision given those before it; its target is that of the mean over the
// decisions. beta adapts to the KL of the last pass, before its step: no pass is made for that
// alone [ours]. An update is one batch; the optimiser's schedules count steps, E for each.
//
// A policy that has settled explores no more: what it has not found by then it will not find. After
// `patience` updates without a better placement the search begins anew with other random weights
// [ours]; schedules and the placement to imitate begin anew with it.

#include <functional>
#include <span>

#include "agents/common/state.h"
#include "agents/policy_gradient/learning_signal.h"
#include "agents/policy_gradient/policy_gradient_config.h"
#include "agents/policy_gradient/policy_loss.h"
#include "framework/learn/tape.h"
#include "framework/search/evaluator.h"
#include "framework/search/update_table.h"

namespace emplace {

class PolicyGradient {
 public:
  /// @param parameters  outlives this; complete
  /// @throws SettingError
  PolicyGradient(const PolicyGradientConfig& config,
                 std::shared_ptr<const Problem> problem,
                 ParameterSet& parameters);

  /// Placements to sample now: `samples`, or what the budget leaves (at least 1).
  int NumSamples(const Evaluator& evaluator) const { return signal_.NumSamples(evaluator); }
  /// The best placement since the last restart, if the imitation term wants its log-probability.
  const Placement* ToImitate() const { return signal_.ToImitate(); }

  using Sampled = PolicySample;
  /// Scores the placements of the update again on a cleared tape, those to imitate included, with
  /// `decisions`.
  using Rescore = std::function<Sampled(Tape&)>;
  /// Evaluates the placements, differentiates, steps. The tape is cleared.
  /// @param sampled  with `decisions` if ppo.epochs > 1
  /// @param rescore  needed if ppo.epochs > 1
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value" when the loss or a
  ///   gradient is not (counted from 0, as the rows of table()); BudgetExhausted
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              Evaluator& evaluator,
              const Rescore& rescore = {});
  /// The same with placements that are evaluated already.
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              std::span<const Outcome> outcomes,
              const Rescore& rescore = {});

  /// Stops the search with the RunError of Update, when sampling already met a value that is not a
  /// number. @param tape  the recording so far
  [[noreturn]] void ThrowNotFinite(const Tape& tape) const;

  /// True after `patience` updates without a better placement. Restart() is then due.
  bool Stale() const { return signal_.Stale(); }
  /// Takes over the values of newly drawn parameters and forgets all but the table.
  /// @param fresh  names and shapes as those given to the constructor
  void Restart(const ParameterSet& fresh);

  /// Since the last restart.
  std::int64_t updates() const { return optimizer_.updates() / config_.ppo.epochs; }
  /// Columns: restarts, evaluations, loss, entropy (mean per decision, nats), gradient_norm,
  /// learning_rate, baseline, mean_cost, best_step_time_ns (since the last restart), feasible
  /// (share); with ppo.epochs > 1 also kl (mean per decision, nats) and kl_weight, both of the last
  /// pass; the loss and the gradient's norm are those of the first step.
  const UpdateTable& table() const { return table_; }

  /// Parameters, moments, baseline, best placement, table.
  void Save(StateWriter& writer) const;
  void Load(StateReader& reader);

 private:
  Optimizer::StepInfo Descend(Tape& tape, Var loss);
  /// The steps of PPO after the first. @return KL per decision of the last pass [nats]
  double DescendAgain(Tape& tape,
                      const Matrix& weights,
                      const DrawnDecisions& drawn,
                      std::int64_t update,
                      const Rescore& rescore);

  PolicyGradientConfig config_;
  ParameterSet& parameters_;
  LearningSignal signal_;
  Optimizer optimizer_;
  Ppo ppo_;
  std::int64_t evaluations_ = 0;
  int restarts_ = 0;
  UpdateTable table_;
};

}  // namespace emplace
