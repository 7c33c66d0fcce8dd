#pragma once

// How the policy of NeurIPS 2019 learns [V]: `episodes` episodes on every graph, then one update.
//
//   loss = mean over graphs, episodes and steps of
//            -A_t log pi(a_t | s_t) - entropy_weight H(pi(. | s_t))
//   A_t  = G_t - mean of G_t at the same step over the last `baseline_episodes` episodes of the
//          graph, those of the update among them: with a single one it is 0
//
// Or, advantage `standardized`, that divided by the standard deviation over the same episodes, as
// the published code can do, too [R]; over which episodes we do not know [?].
//
// [ours], behind settings and off in `paper`: advantages divided by their root mean square over an
// episode; several steps of descent per update by PPO (with one step the gradient of its loss is
// that of the formula); a pull towards the device that the graph's best placement so far gives to
// the current group.
//
// Schedules are told in shares of the search, so that every budget sees their end. The entropy
// weight falls linearly from `entropy_weight` to `entropy_final` over the first `entropy_share`;
// with `optimizer.anneal_updates: 0` the learning rate falls to its share `optimizer.anneal_to`
// over the whole. The search is as long as the updates that are planned, else as the evaluations
// that the budget allows; where neither is limited (a budget in seconds) both stay.
//
// Episodes begin, by `episode.begin`, with the start each time (fixed), with a start drawn for each
// episode (redraw), or with the best placement so far (best), of which the outcome is known. The
// start is the best of those that `start` names (agents/starts/starts.h), all of them evaluated if
// there are several; of `nothing` a random placement. Only `nothing` or `random`, alone, can be
// redrawn. Published [V]: {nothing} with fixed or redraw, {single_gpu} with fixed, and best.
//
// A policy that leaves every group where it is finds nothing more: after `patience` updates without
// a better placement of any graph the search begins anew with other random weights (or those of the
// `policy` file) [ours]. With `episode.begin: best` it goes on from its best placement; when that
// did not get any better between two restarts, it forgets it and goes on from the next placement
// that `restart` names. On many a graph moves of single groups lead from a random placement to a
// scattered one, slower than a single device; so one device is among them, as in the paper.
//
// `move_share` m > 0 [ours]: a policy that only loses from its best placement ends up leaving every
// group where it is, and one that moves most groups searches at random. So the logit b that is
// added for staying (`stay` at first) is adapted: after an update whose episodes moved a share m'
// of their groups in the mean, b += 0.5 clamp((m' - m) / m, -1, 1). What the policy has learnt
// decides which groups.
//
// `stays` n > 0 [ours]: of the steps of an episode that move nothing the update learns from n
// (learnt_steps.h).
//
// Each graph has a copy of the parameters; gradients are summed in the order of the graphs, so the
// number of threads changes nothing.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/placeto/learnt_steps.h"
#include "agents/placeto/placeto_config.h"
#include "agents/shared/policy_gradient/best_placement.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/state.h"

namespace emplace {

/// A row of PlacetoLearner::table(): an update or a greedy episode. Times and shares are means over
/// the graphs. What a greedy episode does not have is NaN. Where an update makes several steps of
/// descent, loss and entropy are those of the first, norm and rate those of the last.
struct PlacetoRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double restarts = 0;
  double update = 0;              ///< updates before this row
  double greedy = 0;              ///< 1: a greedy episode
  double evaluations = 0;         ///< of the whole search
  double loss = kNone;            ///< updates only, as the next five
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
  /// @param threads  of an update; they change no result
  /// @param planned_updates  for schedules over the whole search; 0: not known
  /// @throws SettingError; for key "policy" if its file cannot be read, is no policy of placeto, or
  ///   was trained with other settings or, unless devices are scored, for another number of devices
  ///   (both named). InputError for problems of different numbers of devices, unless scored
  PlacetoLearner(const PlacetoConfig& config,
                 std::vector<std::shared_ptr<const Problem>> problems,
                 std::uint64_t seed,
                 int threads,
                 std::int64_t planned_updates = 0,
                 const Interrupt& interrupt = {});

  /// Episodes on every problem, and an update from them.
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value"; BudgetExhausted;
  ///   Interrupted
  void Update(std::span<Evaluator* const> evaluators);
  /// An episode of the most probable choices on the first problem, recorded as a row without
  /// update.
  void GreedyEpisode(Evaluator& evaluator);

  bool has_choices() const;
  std::int64_t updates() const { return updates_; }
  /// One PlacetoRow per update and greedy episode.
  const UpdateTable& table() const { return core_.table(); }

  void VisitState(StateVisitor& v);
  /// What acting on other problems needs: the network's settings, number of devices, parameters.
  void SavePolicy(std::ostream& out);
  /// The graph-independent parameters.
  ParameterSet& parameters() { return parameters_; }

 private:
  struct Task {
    Task(std::shared_ptr<const Problem> problem, const PlacetoConfig& config, Rng& rng);
    EpisodeProblem problem;
    ParameterSet parameters;  // a copy of the learner's, with gradients of its own
    PlacetoNetwork network;
    std::optional<Placement> start;
    BestPlacement best;
    std::vector<Nanos> best_starts;  // [num_groups] Episode::best_starts of the best, if any
    std::vector<std::vector<double>> gains;  // of the last episodes, the oldest first
  };
  struct Sampled {
    Episode episode;
    std::vector<int> devices;  // [T] chosen
    Matrix log_probabilities;  // [T, D] of the policy that chose
    Matrix advantages;         // [T, 1] as costs: -A_t
    std::vector<LearntStep> learnt;
  };
  struct Learned {
    double loss = 0, entropy = 0, kl = 0;
  };

  void VisitPolicy(StateVisitor& v);
  void LoadPolicyFile();
  void Restart();
  /// Chooses task.start if there is none.
  void FindStart(Task& task, Evaluator& evaluator);
  /// @param rng  draws the choices; nullptr: the most probable ones
  Sampled Sample(Task& task, const Placement& first, Evaluator& evaluator, Rng* rng);
  /// Takes note of what an episode found. @return whether that is the best so far
  bool Take(Task& task, const Episode& episode);
  /// Advantages of the episodes of an update.
  void Weigh(Task& task, std::span<Sampled> episodes) const;
  Learned Differentiate(Task& task, const Sampled& sampled, double entropy_weight) const;
  /// Share of the search that has passed, as far as that is known.
  double Progress(const Evaluator& evaluator) const;
  double EntropyWeight(double progress) const;
  /// Towards `move_share`.
  void AdaptStay(std::span<const std::vector<Sampled>> sampled);
  /// Adds what the episodes tell, and the row to the table.
  /// @param sampled  [num_tasks] the episodes of each
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
