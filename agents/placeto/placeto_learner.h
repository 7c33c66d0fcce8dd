#pragma once

// Learning of the policy of Placeto (NeurIPS 2019): `episodes` episodes on every graph, then one
// update.
//
//   loss = mean over graphs, episodes and steps of
//            -A_t log pi(a_t | s_t) - entropy_weight H(pi(. | s_t))
//   A_t  = G_t - mean of G_t at the same step over the last `baseline_episodes` episodes of the
//          graph, including those of the update; with a single episode A_t is 0
//
// With advantage `standardized`, A_t is divided by the standard deviation over the same episodes.
// The published code has such an option; we do not know over which episodes it takes the deviation.
//
// With the reward `all_actions` the first term is the expectation over all devices
// (all_actions.h).
//
// Three settings are not in the paper and are off in the preset `paper`: advantages divided by
// their root mean square over an episode; several steps of descent per update by PPO (with one step
// its gradient is that of the formula); an imitation term that pulls the policy, for the current
// group, towards the device in the graph's best placement so far.
//
// Schedules are given in shares of the search, so that every budget reaches their end. The entropy
// weight falls linearly from `entropy_weight` to `entropy_final` over the first `entropy_share`.
// With `optimizer.anneal_updates: 0` the learning rate falls to its share `optimizer.anneal_to`
// over the whole search. The length of the search is the number of planned updates, otherwise the
// number of evaluations that the budget allows. If neither is limited (a budget in seconds), both
// values stay constant.
//
// `episode.begin` sets the first placement of an episode: the start each time (fixed), a start
// drawn for each episode (redraw), or the best placement so far with its known outcome (best). The
// start is the best of the placements named by `start`
// (agents/initial_placements/initial_placements.h), which are all evaluated if there are several;
// `none` stands for a random placement. Only `none` or `random`, alone, can be redrawn. The paper
// has {nothing} with fixed or redraw, {single_gpu} with fixed, and best.
//
// A policy that leaves every group where it is finds nothing new. After `patience` updates without
// a better placement of any graph the search therefore restarts with other random weights (or those
// of the `policy` file); this is not in the paper. With `episode.begin: best` the search continues
// from its best placement. If that has not improved between two restarts, the search drops it and
// continues from the next placement named by `restart`. On many graphs, moves of single groups lead
// from a random placement to a scattered one that is slower than a single device; `restart`
// therefore includes a single device, as in the paper.
//
// `parts` n > 0 (not in the paper) lets the policy place large parts of the graph first. The first
// episodes visit n parts of a partition of the groups (MergedGroups()) instead of the groups. A
// step moves all groups of its part, and the policy sees the graph of the parts; its size does not
// depend on the graph. After `part_patience` updates without a better placement, the episodes visit
// 4 n parts, beginning with the best placement, then 16 n, and so on while each part has at least
// two groups on average, and at last the groups. Moves of single groups do not lead from a random
// placement to a single device within a thousand evaluations; moves of parts do. The episodes visit
// groups from the beginning if the start is not a random placement, which may not be a placement of
// the parts, and if `episode.begin` is not `best`.
//
// A learner with `patience: 0`, as in a training, and `episode.begin: best` keeps its policy. After
// `part_patience` updates of the groups without a better placement it drops the graph's best
// placement and takes another start. A training that stays at its best placements shows the policy
// only states in which every move is wrong (agents/placeto/README.md).
//
// `learn: false` (not in the paper) draws the episodes from the policy as it is.
//
// `move_share` m > 0 (not in the paper) sets the share of groups that an episode moves. A policy
// that only loses from its best placement ends up leaving every group where it is, and a policy
// that moves most groups searches at random. The logit b that is added for staying (`stay` at
// first) is therefore adapted: after an update whose episodes moved a share m' of their groups on
// average (m is at least two groups), b += 0.5 clamp((m' - m) / m, -1, 1). The learned policy
// decides which groups move.
//
// `stays` n > 0 (not in the paper): of the steps of an episode that move nothing, the update learns
// from n (episode.h).
//
// Each graph has a copy of the parameters. Gradients are summed in the order of the graphs, so the
// number of threads does not change a result.

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/placeto/episode.h"
#include "agents/placeto/placeto_config.h"
#include "agents/shared/policy_gradient/best_placement.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/state.h"

namespace emplace {

/// A row of PlacetoLearner::table(): an update or a greedy episode. Times and shares are means over
/// the graphs. Fields that do not apply to a greedy episode are NaN. If an update makes several
/// steps of descent, loss and entropy are those of the first step, norm and rate those of the last.
struct PlacetoRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double restarts = 0;
  double update = 0;              ///< updates before this row
  double greedy = 0;              ///< 1: a greedy episode
  double evaluations = 0;         ///< of the whole search
  double loss = kNone;            ///< this and the next five: rows of updates only
  double entropy = kNone;         ///< mean per step [nats]
  double entropy_weight = kNone;  ///< of the first step
  double stay = kNone;            ///< logit for staying
  double gradient_norm = kNone;   ///< before clipping
  double learning_rate = kNone;
  double gain = 0;                ///< G_0
  double start_step_time_ns = 0;  ///< of an episode's first placement; NaN: it does not fit
  double last_step_time_ns = 0;   ///< of its last
  double best_step_time_ns = 0;   ///< so far
  double feasible = 0;            ///< share of the last placements
  UpdateFields Fields() const;
};

class PlacetoLearner {
 public:
  /// @param threads  of an update; their number does not change a result
  /// @param planned_updates  for schedules over the whole search; 0: not known
  /// @throws SettingError; for key "policy" if the file cannot be read, is not a policy of placeto,
  ///   was trained with other settings or, unless devices are scored, for another number of devices
  ///   (both named). InputError for problems with different numbers of devices, unless devices are
  ///   scored
  PlacetoLearner(const PlacetoConfig& config,
                 std::vector<std::shared_ptr<const Problem>> problems,
                 std::uint64_t seed,
                 int threads,
                 std::int64_t planned_updates = 0,
                 const Interrupt& interrupt = {});

  /// Runs episodes on every problem and updates the policy from them.
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value"; BudgetExhausted;
  ///   Interrupted
  void Update(std::span<Evaluator* const> evaluators);
  /// Runs an episode of the most probable choices on the first problem and adds a row to the table.
  /// @return whether the episode found a faster placement than its first one
  bool GreedyEpisode(Evaluator& evaluator);
  /// Ends a search of the first problem by episodes of the most probable choices. With
  /// `episode.begin: best` it repeats them on each remaining level until one finds nothing better,
  /// and evaluates the best placement of the search last.
  void Finish(Evaluator& evaluator);

  bool has_choices() const;
  std::int64_t updates() const { return updates_; }
  /// One PlacetoRow per update and greedy episode.
  const UpdateTable& table() const { return core_.table(); }

  void VisitState(StateVisitor& v);
  /// Writes the parts needed to act on other problems: settings of the network, number of devices,
  /// parameters.
  void SavePolicy(std::ostream& out);
  /// Returns the parameters, which do not depend on a graph.
  ParameterSet& parameters() { return parameters_; }

 private:
  struct Task {
    Task(std::shared_ptr<const Problem> problem, const PlacetoConfig& config, Rng& rng);
    EpisodeProblem& problem() { return *levels[level]; }
    bool finest() const { return level + 1 == static_cast<int>(levels.size()); }
    std::vector<std::unique_ptr<EpisodeProblem>> levels;  // the last: the groups themselves
    int level = 0;
    Patience patience;        // of the level, in updates
    ParameterSet parameters;  // a copy of the learner's, with its own gradients
    PlacetoNetwork network;
    std::optional<Placement> start;
    BestPlacement best;                      // of the level, since the search of the graph began
    Outcome best_outcome;                    // of the best, if any, with the times of the ops
    BestPlacement found;                     // of the groups, in the whole search
    std::vector<std::vector<double>> gains;  // of the last episodes, the oldest first
  };
  struct Sampled {
    Episode episode;
    std::vector<int> devices;  // [T] chosen
    Matrix log_probabilities;  // [T, D] of the policy that chose
    Matrix advantages;         // [T, 1] or [T, D] as costs: -A_t
    std::vector<LearntStep> learnt;
  };
  struct Learned {
    double loss = 0, entropy = 0, kl = 0;
  };

  void VisitPolicy(StateVisitor& v);
  void LoadPolicyFile();
  void Restart();
  /// Continues with the next level of a task, from its best placement.
  void Refine(Task& task) const;
  /// Drops the best placement of a task; the next episode takes another start.
  void Forget(Task& task) const;
  /// Refines or forgets the placement of a task that has run out of patience.
  void Advance(Task& task) const;
  /// Chooses task.start if there is none.
  void FindStart(Task& task, Evaluator& evaluator);
  /// @param rng  draws the choices; nullptr: the most probable ones
  Sampled Sample(Task& task, const Placement& first, Evaluator& evaluator, Rng* rng);
  /// Draws the episodes of an update.
  std::vector<Sampled> Draw(Task& task, Evaluator& evaluator, Rng& rng);
  /// Updates the best placement from an episode. Returns true if it improved.
  bool Take(Task& task, const Episode& episode);
  /// Computes the advantages of the episodes of an update.
  void Weigh(Task& task, std::span<Sampled> episodes) const;
  /// Descends from the episodes of an update and adds the values of the descent to the row.
  /// @param sampled  [num_tasks] the episodes of each task
  void Learn(std::span<std::vector<Sampled>> sampled, PlacetoRow& row);
  Learned Differentiate(Task& task, const Sampled& sampled, double entropy_weight) const;
  /// Returns the share of the search that has passed; 0 if the length of the search is not known.
  double Progress(const Evaluator& evaluator) const;
  double EntropyWeight(double progress) const;
  /// Moves the logit for staying towards the value that gives `move_share`.
  void AdaptStay(std::span<const std::vector<Sampled>> sampled);
  /// Adds the values of the episodes to the row, and the row to the table.
  /// @param sampled  [num_tasks] the episodes of each task
  void Record(PlacetoRow row, std::span<const std::vector<Sampled>> sampled);

  PlacetoConfig config_;
  std::vector<std::shared_ptr<const Problem>> problems_;
  int threads_;
  std::int64_t planned_updates_;
  Interrupt interrupt_;
  Rng rng_;
  ParameterSet parameters_;
  double stay_;  // of the tasks' networks
  LearnerCore core_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::int64_t updates_ = 0, evaluations_ = 0;
  int restarts_ = 0;
  Patience patience_;           // in updates
  bool improved_ = false;       // since the last restart
  std::int64_t forgotten_ = 0;  // restarts that forgot the best
};

}  // namespace emplace
