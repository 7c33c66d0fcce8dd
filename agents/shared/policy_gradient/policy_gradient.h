#pragma once

// Policy gradient, shared by the learning agents. An agent samples K placements on a tape in one
// pass and passes their log-probabilities. PolicyGradient evaluates the placements, computes the
// loss, differentiates it, and makes one optimizer step:
//
//   loss = 1/K' sum_i A_i log p(P_i) - entropy_weight * entropy - imitation_weight * log p(P_best)
//
// A_i = R(P_i) - baseline, optionally divided by its root mean square over the batch. R is a cost,
// so that descent makes bad placements less likely. After `valid_only_after` updates, only
// placements that fit count (ICML 2017, ICLR 2018); K' is the number of placements that count. The
// imitation term pulls towards the best placement so far. With `per_decision`, log-probabilities
// and entropies are divided by the number of decisions of a placement, so that step sizes have the
// same meaning on graphs of all sizes.
//
// With `ppo.epochs` E > 1 the batch is used for E steps (ppo.h). The first step minimises the loss
// above. Before each further step the agent scores the placements again, and log p is replaced by
// the ratios r_it of the current to the sampling probabilities of each decision t:
//
//   1/K' sum_i A_i sum_t r_it,   clipped or plus beta sum_t KL_t(old || new)
//
// The entropy and imitation terms are unchanged. KL is exact for each decision given the previous
// ones; its target applies to the mean over the decisions. beta adapts to the KL that the last pass
// computed before its step, which saves an extra pass. An update is one batch; the optimizer's
// schedules count steps, E for each update.
//
// A policy that has converged no longer explores. After `patience` updates without a better
// placement, the search restarts with new random weights; the schedules and the placement to
// imitate are reset, too.
//
// With `start` the search begins from placements of agents/initial_placements/initial_placements.h.
// They are evaluated first, and the best of them becomes the best placement so far. Before any
// sampling, the policy is pulled to it by optimizer steps on
//
//   - log p(P_start) / decisions
//
// until the geometric mean of its probability per decision is `start_probability`, or `start_steps`
// are made. The first samples then differ from the start in about one of
// 1 / (1 - start_probability) decisions. A restart pulls the new weights to the start again. The
// optimizer's moments and the schedules of the updates are reset afterwards.
//
// Restarts with new weights explore other regions; the best placement of a region is found near the
// best one known there. Once `fresh_share` of the budget of evaluations is spent, a restart
// therefore uses the best placement of the whole search as its start. Without a budget of
// evaluations, or with a share of 1, every restart uses the original start.
//
// In the last `settle_share` of the budget of evaluations the policy settles on the best placement
// of the search. It is pulled to that placement, with its weights as they are, until the mean
// probability is at least kSettledProbability. Then it learns on, without entropy bonus and
// restarts. Without this, a search may end soon after a restart, far from the best placement.
//
// With `entropy_control` the entropy of the samples follows a planned decrease (entropy_control.h);
// no restart occurs before the end of the plan.
//
// With `controllers` N > 1 the gradient of an update is taken at the parameters of N - 1 updates
// ago (controllers.h).

#include <functional>
#include <limits>
#include <memory>
#include <optional>
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

inline constexpr double kSettledProbability = 0.99;

/// A row of the table of PolicyGradient.
struct PolicyGradientRow {
  double restarts = 0;           ///< before this update
  double evaluations = 0;        ///< of the whole search, starts and this update included
  double loss = 0;               ///< of the first step
  double entropy = 0;            ///< mean per decision [nats]
  double gradient_norm = 0;      ///< of the first step, before clipping
  double learning_rate = 0;      ///< of the first step
  double baseline = 0;           ///< after the update
  double mean_cost = 0;          ///< of the update's placements
  double best_step_time_ns = 0;  ///< since the last restart; NaN: nothing fitted yet
  double feasible = 0;           ///< share of the update's placements
  double kl = 0;                 ///< ppo.epochs > 1: of the last pass, mean per decision [nats]
  double kl_weight = 0;          ///< ppo.epochs > 1: weight in the last pass
  /// @param ppo  whether kl and kl_weight are included
  UpdateFields Fields(bool ppo) const;
};

class PolicyGradient {
 public:
  /// @param parameters  must outlive this object; complete
  /// @throws SettingError
  PolicyGradient(const PolicyGradientConfig& config,
                 std::shared_ptr<const Problem> problem,
                 ParameterSet& parameters);

  /// Returns true until Begin() is called, if there is a `start`.
  bool MustBegin() const { return !untrained_ && start_.placement() == nullptr; }
  /// Evaluates the placements of `start`. PullToStart() must follow.
  /// @param rng  for random starts
  /// @throws BudgetExhausted; Interrupted
  void Begin(Evaluator& evaluator, Rng& rng, const Interrupt& interrupt);
  /// Returns the placement at which the policy starts; nullptr if there is none, or before Begin().
  const Placement* start() const { return start_.placement(); }
  /// Makes steps of descent before the first update, and then resets the optimizer and the
  /// schedules.
  /// @param loss  of a cleared tape; none: the descent ends
  /// @throws RunError as Update
  void Pretrain(Tape& tape, int steps, const std::function<std::optional<Var>(Tape&)>& loss);
  /// Pulls the policy to start().
  /// @param score  returns log_probability [1, 1] and num_decisions of start() on a cleared tape
  /// @throws RunError as Update
  void PullToStart(Tape& tape, const std::function<PolicySample(Tape&)>& score);

  /// Begins an update. The first one since a restart starts the entropy plan.
  /// @return number of placements to sample: `samples`, or the rest of the budget (at least 1)
  int BeginUpdate(const Evaluator& evaluator);
  /// Returns the best placement since the last restart if the imitation term needs its
  /// log-probability, else nullptr.
  const Placement* ToImitate() const { return part_.signal().ToImitate(); }

  using Sampled = PolicySample;
  /// Scores the placements of the update, and the one to imitate, again on a cleared tape, with
  /// `decisions`.
  using Rescore = std::function<Sampled(Tape&)>;
  /// Evaluates the placements, differentiates the loss and makes the optimizer steps. Clears the
  /// tape.
  /// @param sampled  with `decisions` if ppo.epochs > 1
  /// @param rescore  needed if ppo.epochs > 1
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value" if the loss or a gradient
  ///   is not finite (updates are counted from 0, like the rows of table()); BudgetExhausted
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              Evaluator& evaluator,
              const Rescore& rescore = {});
  /// Does the same with placements that are already evaluated.
  void Update(Tape& tape,
              const Sampled& sampled,
              std::span<const Placement> placements,
              std::span<const Score> scores,
              const Rescore& rescore = {});

  /// Returns the share of the placements of the last update that fit into memory.
  double feasible() const { return part_.batch().feasible; }

  /// Sets the policy's parameters to those that the controllers share.
  void TakeShared() { controllers_.TakeShared(); }

  /// Throws the RunError of Update(), for a value that is not finite and occurs during sampling.
  /// @param tape  the recording so far
  [[noreturn]] void ThrowNotFinite(const Tape& tape) const;

  /// Returns true after `patience` updates without a better placement, once the entropy plan is
  /// complete. Restart() must follow.
  bool Stale() const {
    return !settled_ && part_.signal().Stale() && entropy_control_.Complete(updates());
  }
  /// Returns true once the last `settle_share` of the budget begins, if a placement has fitted.
  /// Settle() must follow.
  bool MustSettle(std::int64_t remaining) const;
  /// Makes the best placement of the search the start. PullToStart() must follow.
  void Settle();
  /// Sets new parameter values and resets everything except the start and the table. If there is a
  /// start(), which may now be the best placement, PullToStart() must follow.
  /// @param fresh  newly drawn values; same names and shapes as the constructor's parameters
  /// @param remaining  remaining evaluations; by default there is no budget of evaluations
  void Restart(const ParameterSet& fresh,
               std::int64_t remaining = std::numeric_limits<std::int64_t>::max());

  /// Sets initial parameter values, before any update.
  void TakeOver(const ParameterSet& parameters);

  /// Returns the number of updates since the last restart.
  std::int64_t updates() const { return core_.updates(); }
  /// Returns one PolicyGradientRow per update; kl and kl_weight only if ppo.epochs > 1.
  const UpdateTable& table() const { return core_.table(); }

  /// Visits parameters, moments, baseline, best placement, start, entropy control, controllers and
  /// table.
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
  bool settled_ = false;
};

}  // namespace emplace
