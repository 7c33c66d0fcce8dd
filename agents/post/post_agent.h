#pragma once

// Cross-entropy minimisation joined with proximal policy optimisation: Y. Gao, L. Chen, B. Li,
// Post: Device Placement with Cross-Entropy Minimization and Proximal Policy Optimization, NeurIPS
// 2018. The policy is a categorical distribution per group (post_policy.h). With T(d) the cost of
// placement d, for n = 1, 2, ...: draw d(n), evaluate it, and
//
//   n a multiple of N       cross-entropy: gamma is the quantile `elite_share` of T over the last N
//                           placements, and the elites are the placements with T <= gamma (all that
//                           tie). The distributions become the shares of each device among the
//                           elites, mixed with epsilon of the uniform distribution. Epsilon falls
//                           from `epsilon` to 0 over `epsilon_samples` placements.
//   n a multiple of K only  PPO: `epochs` steps of descent (ppo.h) on the placements since the last
//                           update, which are K if K divides N. A = T - b with b the running
//                           average of T. Cross-entropy keeps the optimiser's moments.
//
// `method` ce_only leaves out the second. ppo_only leaves out the first; PPO then runs at every
// multiple of K. Both are control experiments of the paper.
//
// We do not know how epsilon falls in the paper (here linearly), on which placements PPO learns,
// how b is computed, and whether the ratio of PPO is that of a whole placement or of each decision:
//   ratio: placement   r(n) = prod_m f_m(d_m(n)) / f_m_old(d_m(n)), KL summed over the decisions
//   ratio: decision    r(n, m) one by one, averaged; KL the mean over the decisions
//
// The following settings are not in the paper and are off in configs/agents/post_paper.yaml:
//   sharing       neighbouring groups learn together in PPO (sharing.h). A search from nothing
//   begins
//                 with the strength first_sharing, with which nearly all groups move together, and
//                 comes to `sharing` after sharing_samples placements: it first learns which device
//                 is best for all, then the places that differ.
//   step          share of the old distributions that the elites' ones replace (smoothing).
//                 With D equally likely devices and 6 elites, no elite uses a given device with
//                 probability (1 - 1 / D)^6: 9 % for 3 devices and 49 % for 9. The elites' shares
//                 also discard the changes that PPO made since the last such step. In the paper,
//                 epsilon keeps a device in use; a small step also keeps the changes of PPO and
//                 needs no epsilon.
//   keep_elites   elites compete with the next N placements
//   mode          the last of N placements is the most likely one instead of a draw. Among hundreds
//                 of groups some are always drawn on unlikely devices. PPO does not learn from this
//                 placement.
//   patience      placements without a better one before a restart; a restart also restarts every
//                 schedule
//   return_probability
//                 after a restart the distributions begin with this probability on the devices of
//                 the best placement, so that the search continues from it. If no better placement
//                 was found since the previous restart, the best placement is dropped and the
//                 distributions are as at first. 0: always as at first
//   start         names of agents/initial_placements/initial_placements.h. The placements are
//   evaluated first, and the best
//                 of them is the first best placement. The distributions begin with
//                 `start_probability` on its devices instead of uniform, also after a restart. No
//                 update learns from it.
//
// If the budget ends between two multiples, the agent draws as many placements as the budget leaves
// and makes no update. A longer budget continues with the same schedule. A step makes one Evaluate
// call.
//
// The agent ends after one evaluation if no group has a choice; otherwise the budget ends it.

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/post/post_policy.h"
#include "agents/shared/policy_gradient/baseline.h"
#include "agents/shared/policy_gradient/best_placement.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "agents/shared/policy_gradient/ppo.h"
#include "agents/shared/policy_gradient/reward.h"
#include "framework/base/interrupt.h"
#include "framework/learn/optimizer.h"
#include "framework/search/agent.h"
#include "framework/search/state.h"

namespace emplace {

struct CrossEntropyConfig {
  int samples = 60;  ///< N
  double elite_share = 0.1;
  double epsilon = 0;
  int epsilon_samples = 2400;
  double step = 0.1;
  bool keep_elites = true;
  bool mode = true;
  void Visit(FieldVisitor& v);
};

struct PostConfig {
  std::string method = "joint";
  RewardConfig reward;
  BaselineConfig baseline;
  bool normalize_advantages = true;  ///< divided by their root mean square over the batch
  int ppo_samples = 12;              ///< K
  std::string ratio = "decision";
  PpoConfig ppo;
  CrossEntropyConfig cross_entropy;
  OptimizerConfig optimizer;
  double sharing = 20, first_sharing = 30000;
  int sharing_samples = 240;
  int patience = 600;  ///< placements; 0: never restarts
  double return_probability = 0.95;
  std::vector<std::string> start = {"none"};
  double start_probability = 0.8;
  PostConfig();
  void Visit(FieldVisitor& v);
};

/// A row of PostAgent::updates(). Costs and shares are those of the placements since the previous
/// row.
struct PostRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double restarts = 0;           ///< before this update
  double evaluations = 0;        ///< of the whole search, including those of `start`
  double phase = 0;              ///< 0 PPO, 1 cross-entropy
  double entropy = 0;            ///< of the distributions that drew, mean per decision [nats]
  double kl = kNone;             ///< PPO: old to new, as the setting `ratio` says [nats]
  double kl_weight = kNone;      ///< PPO: after the update
  double epsilon = kNone;        ///< cross-entropy: share of the uniform distribution
  double elite_time_ns = kNone;  ///< cross-entropy: the slowest elite that fits
  double baseline = kNone;       ///< after the update
  double mean_cost = 0;
  double best_step_time_ns = kNone;  ///< since the last fresh start; NaN: nothing fits yet
  double feasible = 0;               ///< share
  UpdateFields Fields() const;
};

class PostAgent final : public Agent {
 public:
  using Config = PostConfig;
  /// @throws SettingError
  PostAgent(const AgentContext& context, const Config& config);
  /// With a `start` the first step evaluates it. Every other step draws and evaluates placements up
  /// to the next multiple of K or N and makes the update that is then due.
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value" if a parameter, a loss or
  ///   a gradient is not finite (updates count from 0, as the rows of updates()); BudgetExhausted;
  ///   Interrupted
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  /// One PostRow per update.
  const UpdateTable* updates() const override { return &core_.table(); }
  void VisitState(StateVisitor& v) override;

 private:
  struct Sample {
    Placement placement;
    Score score;
    double cost;  // T
  };
  bool UsesPpo() const { return config_.method != "ce_only"; }
  bool UsesCrossEntropy() const { return config_.method != "ppo_only"; }
  /// Returns the number of samples until the next update, at least 1.
  std::int64_t UntilUpdate() const;
  void Draw(int count, Evaluator& evaluator);
  /// Each kind of update fills in its own columns of the row.
  void Ppo(std::span<const Sample> batch, const std::vector<double>& advantages, PostRow& row);
  void CrossEntropy(PostRow& row);
  void Update();
  /// Sets the strength of sharing that is due `shared_at_` placements after a restart.
  void SetSharing();
  /// Resets distributions and schedules; the distributions are near best_ or start_ if there is
  /// one.
  void Begin();

  std::shared_ptr<const Problem> problem_;
  Interrupt end_construction_, interrupt_;
  Config config_;
  Rng rng_;
  ParameterSet parameters_;
  PostPolicy policy_;
  Reward reward_;
  Baseline baseline_;
  LearnerCore core_;
  Patience patience_;  // in placements
  bool finished_ = false;
  std::int64_t evaluations_ = 0, since_restart_ = 0;
  int restarts_ = 0;
  bool from_nothing_ = true;     // since the last restart, instead of near a placement
  std::int64_t shared_at_ = 0;   // since_restart_ at which the strength of sharing was set
  bool improved_ = false;        // best_, since the last restart
  std::vector<Sample> samples_;  // since the last cross-entropy step, kept elites before them
  int num_used_ = 0;             // number of first samples_ that earlier updates have used
  BestPlacement start_, best_;   // best_: since the last fresh start of the search, start_ included
};

}  // namespace emplace
