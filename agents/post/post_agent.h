#pragma once

// Cross-entropy minimisation and proximal policy optimisation, joined: Y. Gao, L. Chen, B. Li,
// Post: Device Placement with Cross-Entropy Minimization and Proximal Policy Optimization, NeurIPS
// 2018. The policy is a categorical distribution per group, post_policy.h. With T(d) the cost of
// placement d, for n = 1, 2, ...: draw d(n), evaluate, and
//
//   n a multiple of N       cross-entropy [V]: with gamma the quantile `elite_share` of T over the
//                           last N placements, the distributions become the shares of each device
//                           among the elites, the placements with T <= gamma (all that tie), mixed
//                           with epsilon of the uniform one. Epsilon falls linearly [?] from
//                           `epsilon` to 0 over `epsilon_samples` placements.
//   n a multiple of K only  PPO [V]: `epochs` steps of descent, ppo.h, on the placements since the
//                           last update, K of them where K divides N [?]; A = T - b, b the running
//                           average of T [?]. The optimiser's moments outlast cross-entropy [ours].
//
// `method` ce_only leaves out the second, ppo_only the first (which then happens at every multiple
// of K), the paper's control experiments [V].
//
// Whether the ratio of PPO is that of a whole placement or of each decision is not known [?]:
//   ratio: placement   r(n) = prod_m f_m(d_m(n)) / f_m_old(d_m(n)), KL summed over the decisions
//   ratio: decision    r(n, m) one by one, averaged; KL the mean over the decisions
//
// Beyond the paper [ours], off in configs/agents/post_paper.yaml:
//   sharing       neighbouring groups learn together in PPO (sharing.h)
//   step          share of the old distributions that gives way to the elites' (smoothing)
//   keep_elites   elites compete with the next N placements
//   patience      placements without a better one before a restart from uniform distributions;
//                 every schedule begins anew
//
// When the budget ends between two multiples as many placements as it leaves are drawn, and no
// update is made; a longer budget goes on with the same schedule. One Evaluate call per step.
//
// Ends after one evaluation when no group has a choice; otherwise the budget ends it.

#include <optional>
#include <span>
#include <vector>

#include "agents/common/state.h"
#include "agents/policy_gradient/baseline.h"
#include "agents/policy_gradient/ppo.h"
#include "agents/policy_gradient/reward.h"
#include "agents/post/post_policy.h"
#include "framework/learn/optimizer.h"
#include "framework/search/agent.h"

namespace emplace {

struct CrossEntropyConfig {
  int samples = 300;  ///< N
  double elite_share = 0.05;
  double epsilon = 0;
  int epsilon_samples = 2400;
  double step = 0.3;
  bool keep_elites = true;
  void Visit(FieldVisitor& v);
};

struct PostConfig {
  std::string method = "joint";
  RewardConfig reward;
  BaselineConfig baseline;
  bool normalize_advantages = true;  ///< divided by their root mean square over the batch [ours]
  int ppo_samples = 12;              ///< K
  std::string ratio = "decision";
  PpoConfig ppo;
  CrossEntropyConfig cross_entropy;
  OptimizerConfig optimizer;
  double sharing = 20;
  int patience = 600;  ///< placements; 0: never restarts
  PostConfig();
  void Visit(FieldVisitor& v);
};

class PostAgent final : public Agent {
 public:
  using Config = PostConfig;
  /// @throws SettingError
  PostAgent(const AgentContext& context, const Config& config);
  /// Draws and evaluates up to the next multiple of K or N, and makes the update that is due.
  /// @throws RunError "update 17: not finite: log_softmax [8, 3]: value" when a parameter, a loss
  ///   or a gradient is not (counted from 0, as the rows of updates()); BudgetExhausted
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  /// Columns: restarts, evaluations, phase (0 PPO, 1 cross-entropy), entropy (of the distributions
  /// that drew, mean per decision, nats), kl (old to new, as `ratio` says [nats]; PPO), kl_weight
  /// (after it; PPO), epsilon (cross-entropy), elite_time_ns (the slowest elite that fits;
  /// cross-entropy), baseline, mean_cost, best_step_time_ns (since the last restart), feasible
  /// (share). Costs and shares: of the placements since the last update.
  const UpdateTable* updates() const override { return &table_; }
  void Save(std::ostream& out) const override;
  void Load(std::istream& in) override;

 private:
  struct Sample {
    Placement placement;
    Outcome outcome;
    double cost;  // T
  };
  struct Row {  // what an update tells of itself
    double phase, kl, kl_weight, epsilon, elite_time;
  };
  bool UsesPpo() const { return config_.method != "ce_only"; }
  bool UsesCrossEntropy() const { return config_.method != "ppo_only"; }
  /// Samples until the next update, at least 1.
  std::int64_t UntilUpdate() const;
  void Draw(int count, Evaluator& evaluator);
  Row Ppo(std::span<const Sample> batch, std::vector<double> advantages);
  Row CrossEntropy();
  void Update();
  void Restart();

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  Rng rng_;
  ParameterSet parameters_;
  PostPolicy policy_;
  Reward reward_;
  Baseline baseline_;
  emplace::Ppo ppo_;
  Optimizer optimizer_;
  bool finished_ = false;
  std::int64_t evaluations_ = 0, since_restart_ = 0, stale_ = 0;
  int restarts_ = 0;
  std::vector<Sample> samples_;  // since the last cross-entropy step, kept elites before them
  int num_used_ = 0;             // of them, by the last update
  Outcome best_;                 // since the last restart, if since_restart_ > 0
  UpdateTable table_;
};

}  // namespace emplace
