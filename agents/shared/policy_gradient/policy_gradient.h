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
// With `ppo.epochs` E > 1 the batch is used for E steps (ppo.h). The first is down the loss above;
// before each of the others the agent scores the placements again, and the ratios of its
// probabilities to those that drew them, decision by decision, replace log p:
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
//
// With `start` [ours] the search begins from placements of agents/starts/starts.h: they are
// evaluated first, the best of them is the best placement so far, and before anything is drawn the
// policy is pulled to it by steps of the optimiser down
//
//   - log p(P_start) / decisions
//
// until its geometric mean per decision is `start_probability`, or `start_steps` are made: the
// first samples differ from the start in about one decision of 1 / (1 - start_probability). A
// restart pulls the new weights to it again. Moments and schedules of the updates begin afterwards.
//
// Restarts with other weights are for finding other regions; what is best within one is found near
// its best placement. Once `fresh_share` of the budget of evaluations is spent [ours], a restart
// pulls its weights to the best placement of the whole search as to a start, and goes on learning
// there. Without a budget of evaluations, or with a share of 1, every restart is as the first.
//
// With `entropy_control` [ours] the entropy of what is drawn follows a planned way down
// (entropy_control.h); no restart comes before its end.
//
// With `controllers` N > 1 an update's gradient is that of N - 1 updates ago (controllers.h).
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "agents/shared/policy_gradient/best_placement.h"
#include "agents/shared/policy_gradient/controllers.h"
#include "agents/shared/policy_gradient/entropy_control.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "agents/shared/policy_gradient/policy_gradient_config.h"
#include "agents/shared/policy_gradient/problem_update.h"
#include "framework/base/interrupt.h"
#include "framework/base/random.h"
#include "framework/learn/tape.h"
#include "framework/search/evaluator.h"
#include "framework/search/state.h"

namespace emplace {

/// A row of the table of PolicyGradient.
struct PolicyGradientRow {
  double restarts = 0;           ///< before this update
  double evaluations = 0;        ///< of the whole search, start's and this update's included
  double loss = 0;               ///< of the first step
  double entropy = 0;            ///< mean per decision [nats]
  double gradient_norm = 0;      ///< of the first step, before clipping
  double learning_rate = 0;      ///< of the first step
  double baseline = 0;           ///< after the update
  double mean_cost = 0;          ///< of the update's placements
  double best_step_time_ns = 0;  ///< since the last restart; NaN: nothing fitted yet
  double feasible = 0;           ///< share of the update's placements
  double kl = 0;                 ///< ppo.epochs > 1: of the last pass, mean per decision [nats]
  double kl_weight = 0;          ///< ppo.epochs > 1: that the last pass had
  /// @param ppo  whether kl and kl_weight are among them
  UpdateFields Fields(bool ppo) const;
};

class PolicyGradient {
 public:
  /// @param parameters  outlives this; complete
  /// @throws SettingError
  PolicyGradient(const PolicyGradientConfig& config,
                 std::shared_ptr<const Problem> problem,
                 ParameterSet& parameters);

  /// True until Begin(), if there is a `start`.
  bool MustBegin() const { return !untrained_ && start_.placement() == nullptr; }
  /// Evaluates the placements of `start`. PullToStart() is then due.
  /// @param rng  draws what is random among them
  /// @throws BudgetExhausted; Interrupted
  void Begin(Evaluator& evaluator, Rng& rng, const Interrupt& interrupt);
  /// What the policy begins at; nullptr: nothing, or before Begin().
  const Placement* start() const { return start_.placement(); }
  /// @param score  log_probability [1, 1] and num_decisions of start() on a cleared tape
  /// @throws RunError as Update
  void PullToStart(Tape& tape, const std::function<PolicySample(Tape&)>& score);

  /// Begins an update; the first one since a restart begins the plan of the entropy.
  /// @return placements to sample now: `samples`, or what the budget leaves (at least 1)
  int BeginUpdate(const Evaluator& evaluator);
  /// The best placement since the last restart, if the imitation term wants its log-probability.
  const Placement* ToImitate() const { return part_.signal().ToImitate(); }

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

  /// Gives the policy the parameters that the controllers share.
  void TakeShared() { controllers_.TakeShared(); }

  /// Stops the search with the RunError of Update, when sampling already met a value that is not a
  /// number. @param tape  the recording so far
  [[noreturn]] void ThrowNotFinite(const Tape& tape) const;

  /// True after `patience` updates without a better placement, once the plan of the entropy is
  /// through. Restart() is then due.
  bool Stale() const { return part_.signal().Stale() && entropy_control_.Complete(updates()); }
  /// Takes over the values of newly drawn parameters and forgets all but the start and the table.
  /// With a start(), which may have become the best placement, PullToStart() is due again.
  /// @param fresh  names and shapes as those given to the constructor
  /// @param remaining  of the evaluator; the default: it has no budget of evaluations
  void Restart(const ParameterSet& fresh,
               std::int64_t remaining = std::numeric_limits<std::int64_t>::max());

  /// Begins with these values, before any update.
  void TakeOver(const ParameterSet& parameters);

  /// Since the last restart.
  std::int64_t updates() const { return core_.updates(); }
  /// One PolicyGradientRow per update; kl and kl_weight only with ppo.epochs > 1.
  const UpdateTable& table() const { return core_.table(); }

  /// Parameters, moments, baseline, best placement, start, entropy control, controllers, table.
  void VisitState(StateVisitor& v);

 private:
  PolicyGradientConfig config_;
  std::shared_ptr<const Problem> problem_;
  bool untrained_;
  BestPlacement start_, best_;  // best_: of all restarts
  ParameterSet& parameters_;
  ProblemUpdate part_;
  LearnerCore core_;
  EntropyControl entropy_control_;
  Controllers controllers_;
  std::int64_t evaluations_ = 0;
  int restarts_ = 0;
};

}  // namespace emplace
