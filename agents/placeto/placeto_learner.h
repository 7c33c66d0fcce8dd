#pragma once

// How the policy of NeurIPS 2019 learns [V]: one episode on every graph, then one update.
//
//   loss = mean over graphs and steps of  -A_t log pi(a_t | s_t) - entropy_weight H(pi(. | s_t))
//   A_t = G_t - mean of G_t at the same step over the last `baseline_episodes` episodes of the
//   graph
//
// The mean is over earlier episodes; in the first A_t = G_t [?]. The entropy weight falls linearly
// from `entropy_weight` to `entropy_final`. [ours], behind settings and off in `paper`: advantages
// divided by their root mean square over an episode; several steps of descent per episode by PPO
// (with one step the gradient of its loss is that of the formula); a pull towards the device that
// the graph's best placement so far gives to the current group.
//
// A policy that leaves every group where it is finds nothing more: after `patience` updates without
// a better placement of any graph the search begins anew with other random weights (or those of the
// `policy` file) [ours]. With `start: best` it goes on from its best placement; when that did not
// get any better between two restarts, it forgets it and goes on from a new random one.
//
// Episodes start from `start`: "random" (drawn once), "redraw" (drawn for each), "best" (the best
// placement so far, "random" before there is one), or a name of agents/starts/starts.h.
//
// Each graph has a copy of the parameters; gradients are summed in the order of the graphs, so the
// number of threads changes nothing.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/common/state.h"
#include "agents/placeto/placeto_config.h"
#include "agents/policy_gradient/best_placement.h"
#include "agents/policy_gradient/learner_core.h"
#include "agents/policy_gradient/update_fields.h"

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
  double loss = kNone;            ///< updates only, as the next four
  double entropy = kNone;         ///< mean per step [nats]
  double entropy_weight = kNone;  ///< of the first step
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
  /// @throws SettingError; for key "policy" if its file cannot be read, is no policy of placeto, or
  ///   was trained with other settings or, unless devices are scored, for another number of devices
  ///   (both named). InputError for problems of different numbers of devices, unless scored
  PlacetoLearner(const PlacetoConfig& config,
                 std::vector<std::shared_ptr<const Problem>> problems,
                 std::uint64_t seed,
                 int threads,
                 const Interrupt& interrupt = {});

  /// An episode on every problem, and an update from them.
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

  void Save(StateWriter& writer) const;
  void Load(StateReader& reader);
  /// What acting on other problems needs: the network's settings, number of devices, parameters.
  void SavePolicy(std::ostream& out) const;
  /// The graph-independent parameters.
  ParameterSet& parameters() { return parameters_; }

 private:
  struct Task {
    Task(std::shared_ptr<const Problem> problem, const PlacetoConfig& config, Rng& rng);
    EpisodeProblem problem;
    ParameterSet parameters;  // a copy of the learner's, with gradients of its own
    PlacetoNetwork network;
    Placement fixed_start;
    BestPlacement best;
    std::vector<std::vector<double>> gains;  // of the last episodes, the oldest first
  };
  struct Sampled {
    Episode episode;
    std::vector<int> devices;  // [T] chosen
    Matrix log_probabilities;  // [T, D] of the policy that chose
    Matrix advantages;         // [T, 1] as costs: -A_t
  };
  struct Learned {
    double loss = 0, entropy = 0, kl = 0;
  };

  void LoadPolicy(std::istream& in, const std::string& where);
  void LoadPolicyFile();
  void Restart();
  Placement Start(Task& task, Rng& rng) const;
  Sampled Sample(Task& task, Evaluator& evaluator, Rng* rng);
  void Weigh(Task& task, Sampled& sampled) const;
  Learned Differentiate(Task& task, const Sampled& sampled) const;
  double EntropyWeight() const;
  /// Adds what the episodes tell, and the row to the table.
  void Record(PlacetoRow row, std::span<const Sampled> sampled);

  PlacetoConfig config_;
  std::vector<std::shared_ptr<const Problem>> problems_;
  int threads_;
  Interrupt interrupt_;
  Rng rng_;
  ParameterSet parameters_;
  LearnerCore core_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::int64_t updates_ = 0, evaluations_ = 0;
  int restarts_ = 0;
  Patience patience_;      // in updates
  bool improved_ = false;  // since the last restart
};

}  // namespace emplace
