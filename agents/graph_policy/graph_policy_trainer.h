#pragma once

// How the policy of `graph_policy` is trained, on any number of graphs and clusters: first it
// imitates what a search found, then it learns from what its own edits gain.
//
// Every problem has a teacher, the best placement of a `multilevel` search of
// `teacher_evaluations`, later the best that anything here found for it, and a search of its own by
// the policy as it is (GraphPolicyAgent), which begins anew from one of the starts, drawn, after
// `search_evaluations`. An update is one batch of edits of each search, in steps of the optimizer
// over `problems` problems each, down the mean over problems of
//
//   w_i * imitation  +  w_r * loss of the policy gradient (graph_policy_agent.h)  -  w_e * entropy
//
//   imitation = mean over groups with a choice of -log p(device of the teacher | placement), for
//               the placement x where the search is; in the first stage also for a placement that
//               1 to 32 random moves (../common/moves.h) made of the teacher's
//   entropy   = mean over groups of that of p at x
//
// First stage, the first `imitation_share` of the updates that are planned: w_i = `imitation`,
// w_r = w_e = 0. Second stage: w_i = `imitation_later`, w_r = `reinforcement`, w_e = `entropy`.
// Before it is imitated, the teacher's placement goes through that exchange of interchangeable
// devices (framework/cluster/symmetry.h) which brings most work where it is in x, matched greedily:
// else the policy would learn that any of four equal devices is as likely as the others.
//
// Imitation before reinforcement: X. Yao et al., DOPPLER, 2025 [R]. Marks: as in
// graph_policy_agent.h.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "agents/graph_policy/graph_policy_agent.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

/// A placement like `from` but for an exchange of interchangeable devices, chosen greedily so that
/// much work is where it is in `to`. `from` itself if a group could not run where it would go.
Placement Aligned(const Problem& problem, const Placement& from, const Placement& to);

/// A row of GraphPolicyTrainer::updates(). Means over the problems.
struct EditTrainingRow {
  double imitation = 0;      ///< -log p per group, where the searches are [nats]
  double gaining = 0;        ///< share of the edits that gain
  double best_gain = 0;      ///< share of the step time that the best of a batch saves
  double over_teacher = 0;   ///< step time of the searches' best over the teacher's, less 1
  double gradient_norm = 0;  ///< of the last step, before clipping
  double learning_rate = 0;  ///< of the last step
  double evaluations = 0;    ///< of all searches and teachers since the training began
  UpdateFields Fields() const;
};

class GraphPolicyTrainer final : public PolicyTrainer {
 public:
  /// With `policy: default` training begins with random weights, with a file at those.
  /// @throws SettingError
  GraphPolicyTrainer(const TrainerContext& context, const GraphPolicyConfig& config);
  void Step(std::span<Evaluator* const> evaluators) override;
  const UpdateTable& updates() const override { return core_.table(); }
  void SavePolicy(std::ostream& out) override { network_->SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  struct Student {
    std::shared_ptr<PairNetwork> network;  // a copy, with gradients of its own
    std::unique_ptr<GraphPolicyAgent> agent;
    int start = 0;                 // index of the name that its search began with
    Rng rng;                       // of the placements made of the teacher's
    std::int64_t evaluations = 0;  // since its search began
    std::int64_t all_evaluations = 0;
    ScoredPlacement teacher;
  };
  struct Told {
    double imitation = 0, gaining = 0, best_gain = 0;
  };
  void Begin(int problem, int start);
  void Teach(int problem, Evaluator& evaluator);
  /// Takes mean and scale of the features from where all searches begin.
  void Normalize(std::span<Evaluator* const> evaluators);
  /// Adds to the gradients of the student's network.
  Told Differentiate(int problem, Evaluator& evaluator, double imitation, double reinforcement);
  /// @return [1, 1]
  Var Imitation(Tape& tape, int problem, Var logits, const Placement& target) const;

  std::vector<std::shared_ptr<const Problem>> problems_;
  GraphPolicyConfig config_;
  int threads_;
  std::int64_t planned_;
  Rng rng_;
  std::shared_ptr<PairNetwork> network_;
  LearnerCore core_;
  std::vector<Student> students_;  // [problems]
};

}  // namespace emplace
