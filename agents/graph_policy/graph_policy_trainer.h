#pragma once

// Trains the policy of `graph_policy` on any number of graphs and clusters: first by imitation of a
// search's results, then by reinforcement from the gains of its own edits.
//
// Every problem has a teacher and a search. The teacher is the best placement of a `multilevel`
// search of `teacher_evaluations`, later the best placement found here for the problem. The search
// is that of the current policy (GraphPolicyAgent); after `search_evaluations` it restarts from a
// start drawn at random. An update is one batch of edits of each search. The optimizer steps, over
// `problems` problems each, descend the mean over problems of
//
//   w_i * imitation  +  w_r * loss of the policy gradient (graph_policy_agent.h)  -  w_e * entropy
//
//   imitation = mean over groups with a choice of -log p(device of the teacher | placement), for
//               the search's placement x; in the first stage also for the teacher's placement after
//               1 to 32 random moves (agents/shared/moves.h)
//   entropy   = mean over groups of the entropy of p at x
//
// The first stage is the first `imitation_share` of the planned updates. It has w_i = `imitation`
// and w_r = w_e = 0. The second stage has w_i = `imitation_later`, w_r = `reinforcement` and
// w_e = `entropy`, or 0 if `reinforcement` is 0.
//
// Interchangeable devices of the teacher's placement are permuted before it is imitated
// (framework/cluster/symmetry.h). A greedy matching chooses the permutation that keeps much work on
// its device in x. Without it, the policy would learn that any of four equal devices is as likely
// as the others.
//
// Reference: imitation before reinforcement: X. Yao et al., DOPPLER, 2025.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "agents/graph_policy/graph_policy_agent.h"
#include "agents/shared/policy_gradient/learner_core.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

/// Returns `from` with interchangeable devices permuted so that much work is on its device in `to`;
/// the matching is greedy. Returns `from` itself if a group may not run on its new device.
Placement Aligned(const Problem& problem, const Placement& from, const Placement& to);

/// A row of GraphPolicyTrainer::updates(): means over the problems.
struct EditTrainingRow {
  double imitation = 0;      ///< -log p per group at the searches' placements [nats]
  double gaining = 0;        ///< share of the edits that improve the placement
  double best_gain = 0;      ///< share of the step time saved by the best of a batch
  double over_teacher = 0;   ///< step time of the searches' best over the teacher's, less 1
  double gradient_norm = 0;  ///< of the last step, before clipping
  double learning_rate = 0;  ///< of the last step
  double evaluations = 0;    ///< of all searches and teachers since the beginning of the training
  UpdateFields Fields() const;
};

class GraphPolicyTrainer final : public PolicyTrainer {
 public:
  /// Training begins with random weights for `policy: default`, otherwise with those of the file.
  /// @throws SettingError
  GraphPolicyTrainer(const TrainerContext& context, const GraphPolicyConfig& config);
  void Step(std::span<Evaluator* const> evaluators) override;
  const UpdateTable& updates() const override { return core_.table(); }
  void SavePolicy(std::ostream& out) override { network_->SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  struct Student {
    std::shared_ptr<PairNetwork> network;  // a copy with its own gradients
    std::unique_ptr<GraphPolicyAgent> agent;
    int start = 0;                 // index of the name of the search's start
    Rng rng;                       // for the random moves of the teacher's placement
    std::int64_t evaluations = 0;  // since its search began
    std::int64_t all_evaluations = 0;
    ScoredPlacement teacher;
  };
  struct Told {
    double imitation = 0, gaining = 0, best_gain = 0;
  };
  void Begin(int problem, int start);
  void Teach(int problem, Evaluator& evaluator);
  /// Computes mean and scale of the features from the first placements of all searches.
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
