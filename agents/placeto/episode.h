#pragma once

// The decision process of NeurIPS 2019 [V]: an episode starts from a full placement and visits
// every group once; at each step the policy chooses the device of the current group.
//
//   r_t = time(placement before step t) - time(after),   G_t = sum_k discount^k r_{t+k}
//
// so that a placement that gets faster is rewarded. `terminal` pays r = time(first) - time(last)
// after the last step and nothing before: the placements between are then not evaluated.
//
// time is in seconds; with `relative` [ours] in units of all groups one after another on the device
// where that takes least, so that graphs of any size reward alike. A placement counts
//   time' = min(time + penalty_per_gb * gigabytes above the limit, penalty_cap)            [V]
// where the gigabytes above the limit are summed over the devices [?]; limit 0: each device's own
// memory [ours]; cap 0: none [ours]. The cap holds for what fits, too, and is in the same units as
// the time. `transform` log takes the logarithm of time' [ours].
//
// A step counts as an evaluation when it changes the placement. One that leaves its group where it
// is has the outcome of the placement before, which is known. So has the first placement of an
// episode that goes on from one evaluated before; it is evaluated all the same if no step changes
// it, so that every episode is paid for.
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

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
  std::string reward = "intermediate";  ///< or "terminal"
  std::string transform = "identity";   ///< of the time: or "log"
  bool relative = true;
  double discount = 1;
  double penalty_per_gb = 2;
  double penalty_limit_gb = 0;
  double penalty_cap = 10;
  void Visit(FieldVisitor& v);
};

/// One problem as episodes see it.
class EpisodeProblem {
 public:
  /// @throws SettingError
  EpisodeProblem(std::shared_ptr<const Problem> problem,
                 const EpisodeConfig& config,
                 const PlacetoNetworkConfig& network,
                 Rng& rng);
  const Problem& problem() const { return *problem_; }
  const PlacetoGraph& graph() const { return graph_; }
  const PlacetoFeatures& features() const { return features_; }
  /// Groups in the order of the visit, without those that may run on one device only: these are no
  /// decision.
  std::span<const int> order() const { return order_; }
  void set_order(std::vector<int> order) { order_ = std::move(order); }
  const EpisodeConfig& config() const { return config_; }
  /// Transformed time with the penalty.
  double Time(const Outcome& outcome) const;

 private:
  std::shared_ptr<const Problem> problem_;
  EpisodeConfig config_;
  PlacetoGraph graph_;
  PlacetoFeatures features_;
  std::vector<int> order_;
  double unit_;  // [s]
};

struct EpisodeStep {
  PlacetoState state;  ///< before the choice
  int device = 0;      ///< chosen
  double gain = 0;     ///< G_t
};

struct Episode {
  std::vector<EpisodeStep> steps;  ///< [order().size()]
  Placement first, last, best;     ///< best: by Better() among those evaluated
  Outcome first_outcome, last_outcome, best_outcome;
  std::vector<Nanos> best_starts;  ///< [num_groups] first op's start in `best` [ns]
  std::int64_t evaluations = 0;
};

/// Chooses the device of state.current. @return an allowed one
using ChooseDevice = std::function<int(const PlacetoState& state)>;

/// What is known of a placement that was evaluated before.
struct KnownPlacement {
  const Outcome& outcome;            ///< without times of ops
  const std::vector<Nanos>& starts;  ///< [num_groups] as Episode::best_starts
};

/// @param known  of `first`; nullptr: it is evaluated
/// @throws BudgetExhausted
Episode RunEpisode(const EpisodeProblem& problem,
                   const Placement& first,
                   const ChooseDevice& choose,
                   Evaluator& evaluator,
                   const KnownPlacement* known = nullptr);

/// G_t of each step from its reward r_t, from the last to the first.
std::vector<double> Gains(std::span<const double> rewards, double discount);

}  // namespace emplace
