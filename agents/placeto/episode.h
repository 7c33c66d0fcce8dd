#pragma once

// The decision process of Placeto (NeurIPS 2019): an episode starts from a full placement and
// visits every group once. At each step the policy chooses the device of the current group.
//
//   r_t = time(placement before step t) - time(after),   G_t = sum_k discount^k r_{t+k}
//
// A placement that becomes faster thus gives a positive reward. The reward `terminal` is 0 before
// the last step and time(first) - time(last) after it; the intermediate placements are not
// evaluated. The reward `all_actions`, which is not in the paper, also evaluates the devices that
// were not chosen: EpisodeStep::rewards has the reward of each, for all_actions.h.
//
// With `undo`, which is not in the paper, a step that makes the placement slower is undone. Its
// reward is that of the choice.
//
// The time is in seconds. With `relative`, which is not in the paper, its unit is the time of all
// groups one after another on the device where that takes least, so that rewards are comparable
// between graphs of any size. The time of a placement includes a penalty:
//   time' = min(time + penalty_per_gb * gigabytes above the limit, penalty_cap)
// The gigabytes above the limit are summed over the devices; how the paper counts them is not
// known. The limit 0 stands for each device's own memory, the cap 0 for no cap (both not in the
// paper). The cap also holds for placements that fit and has the unit of the time. `transform` log
// takes the logarithm of time' (not in the paper).
//
// A step that changes the placement costs one evaluation. A step that leaves its group where it is
// has the outcome of the previous placement. If an episode starts from a placement that was
// evaluated before, the first placement costs an evaluation only if no step changes it; every
// episode thus uses at least one evaluation.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/placeto/placeto_network.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"

namespace emplace {

struct EpisodeConfig {
  std::string begin = "best";           ///< or "fixed", "redraw": placeto_learner.h
  std::string order = "topological";    ///< or "random": drawn once
  std::string reward = "intermediate";  ///< or "all_actions", "terminal"
  std::string transform = "identity";   ///< of the time: or "log"
  bool relative = true;
  bool undo = false;
  double discount = 1;
  double penalty_per_gb = 2;
  double penalty_limit_gb = 0;
  double penalty_cap = 10;
  void Visit(FieldVisitor& v);
};

/// One problem with the inputs, the visiting order and the time of its episodes.
class EpisodeProblem {
 public:
  /// @param num_parts  0: the episodes visit the groups of `problem`; else the parts of a partition
  ///   of the groups (MergedGroups()), whose groups move together. Groups with different sets of
  ///   allowed devices are never in one part
  /// @throws SettingError
  EpisodeProblem(std::shared_ptr<const Problem> problem,
                 const EpisodeConfig& config,
                 const PlacetoNetworkConfig& network,
                 Rng& rng,
                 int num_parts = 0);
  /// Returns the problem that the episodes see: with parts, each part is one group.
  const Problem& problem() const { return *problem_; }
  /// Returns the placement of the groups from one of the parts.
  Placement OfGroups(const Placement& placement) const;
  /// Returns the placement of the parts from one of the groups.
  /// @pre all groups of a part are on one device
  Placement OfParts(const Placement& placement) const;
  const PlacetoGraph& graph() const { return graph_; }
  const PlacetoFeatures& features() const { return features_; }
  /// Returns the groups in the order of the visit. Groups that may run on one device only are left
  /// out.
  std::span<const int> order() const { return order_; }
  void set_order(std::vector<int> order) { order_ = std::move(order); }
  const EpisodeConfig& config() const { return config_; }
  /// Returns true if states have PlacetoState::effects.
  bool effects() const { return effects_; }
  /// Returns the time with the penalty, transformed: time' or its logarithm.
  double Time(const Outcome& outcome) const;
  /// Returns the start of each group's first op that does work [ns], 0 if there is none, or if the
  /// outcome has no times of ops (Objective::kPeriod).
  std::vector<Nanos> GroupStarts(const Outcome& outcome) const;

 private:
  std::vector<int> part_;  // [groups of the placed problem]; empty: the groups are the parts
  std::shared_ptr<const Problem> problem_;
  EpisodeConfig config_;
  bool effects_;
  PlacetoGraph graph_;
  PlacetoFeatures features_;
  std::vector<int> order_, working_ops_;
  double unit_;  // [s]
};

struct EpisodeStep {
  PlacetoState state;  ///< before the choice
  int device = 0;      ///< chosen
  double gain = 0;     ///< G_t
  /// [num_devices] reward of each choice, 0 where the group may not run; reward `all_actions` only
  std::vector<double> rewards;
};

struct Episode {
  std::vector<EpisodeStep> steps;                     ///< [order().size()]
  Placement first, last, best;                        ///< best: by Better() among those evaluated
  Outcome first_outcome, last_outcome, best_outcome;  ///< with the times of the ops
  std::int64_t evaluations = 0;
};

/// Chooses the device of state.current. Returns an allowed one.
using ChooseDevice = std::function<int(const PlacetoState& state)>;

/// Runs one episode from `first`.
/// @param known  outcome of `first` with the times of the ops; nullptr: `first` is evaluated
/// @param learnt  false: devices that are not chosen are not evaluated, EpisodeStep::rewards is
///   empty
/// @throws BudgetExhausted
Episode RunEpisode(const EpisodeProblem& problem,
                   const Placement& first,
                   const ChooseDevice& choose,
                   Evaluator& evaluator,
                   const Outcome* known = nullptr,
                   bool learnt = true);

/// Computes G_t of each step from the rewards r_t, from the last step to the first.
std::vector<double> Gains(std::span<const double> rewards, double discount);

struct LearntStep {
  int step = 0;      ///< index into the episode's steps
  float weight = 1;  ///< number of steps that it represents
};

/// Returns true if the step moves its group to another device.
bool Moves(const EpisodeStep& step);

/// Chooses the steps of an episode from which an update learns; this choice is not in the paper.
/// Most steps of a converged policy leave their group where it is: they contribute little and cost
/// as much to differentiate as the others. An update learns from all steps that move their group
/// and from a few of the others, drawn with equal probability. The weight of a drawn step is the
/// number of steps that it represents, so that a sum over the steps keeps its expectation.
/// @return in the order of the episode
/// @param stays  number of steps to draw among those that move nothing; 0, or at least as many as
///   there are: all are taken and `rng` is not used
std::vector<LearntStep> ChooseLearntSteps(std::span<const EpisodeStep> steps, int stays, Rng& rng);

}  // namespace emplace
