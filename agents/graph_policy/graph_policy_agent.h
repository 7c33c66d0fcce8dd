#pragma once

// A policy over whole placements that was trained on other graphs and clusters: one pass through a
// graph network gives every group a distribution over the devices, from which a batch of placements
// is drawn and evaluated. Machines often have equal devices, and a policy that draws each group by
// itself cannot say which of them is meant; so this one edits: it sees a placement and the schedule
// of its step (pair_features.h), and says where each group would be in a better one.
//
// The first step evaluates the placements that `start` names, and begins at the best. A further
// step is a batch from placement x:
//
//   - x is evaluated once more for its schedule; the network (pair_network.h) says the logits;
//   - `samples` edits of x are drawn (edits.h) and evaluated, the first of them the most probable
//     device of every group;
//   - `merge`: of those that gain, the best, the best two, four, ... that touch no group twice are
//     evaluated together as well;
//   - the best of all becomes x if it is better than x, or as good.
//
// After `patience` evaluations without a better placement, or six times as many as there are moves
// of single groups, the search goes on from a perturbation of the best one, as hill_climb does.
// `batches: n` ends it after n batches (zero-shot); with -1 the budget ends it. As starts are among
// what is evaluated, it ends no worse than the best of them; `single` is one device.
//
// `learn` [ours]: after each batch a step of policy gradient on the problem at hand. Edit i with
// gain r_i, the share of the step time that it saves, has the advantage A_i of
//
//   f(r) = sqrt(min(r, 0.05) / 0.01) if r > 0, else max(r, -0.01) / 0.02
//
// over the batch (less its mean, divided by its deviation), and the loss is the mean over the batch
// of -A_i / sqrt(n_i) sum of the log-probabilities of its n_i decisions.
//
// The papers: one-shot placement by a graph network with features of devices is Y. Zhou et al.,
// Transferable Graph Optimizers for ML Compilers (GO), NeurIPS 2020 [R]; refinement in iterations,
// too [R]. Training by imitation of a search: A. Paliwal et al., REGAL, ICLR 2020 [R]; X. Yao et
// al., DOPPLER, 2025 [R]. The network, its inputs and the edits are ours. Marks [R], [ours]: how
// sure we are of what a paper says (agents/README.md).

#include <memory>
#include <optional>
#include <vector>

#include "agents/graph_policy/edits.h"
#include "agents/graph_policy/graph_policy_config.h"
#include "agents/graph_policy/pair_features.h"
#include "agents/graph_policy/pair_network.h"
#include "agents/shared/improvement/improvement_agent.h"
#include "agents/shared/improvement/perturbed_restarts.h"
#include "agents/shared/policy_file.h"
#include "agents/shared/policy_gradient/learner_core.h"

namespace emplace {

class GraphPolicyTrainer;

class GraphPolicyAgent final : public ImprovementAgent, public PolicySource {
 public:
  using Config = GraphPolicyConfig;
  using Trainer = GraphPolicyTrainer;
  /// Settings that a trained policy has, so that no others can be given with it.
  static constexpr const char* kPolicyStructure[] = {"width", "rounds"};
  /// @throws SettingError for an unknown start, a policy that cannot be read, or settings that
  ///   contradict each other
  GraphPolicyAgent(const AgentContext& context, const Config& config);
  /// With a network that is being trained elsewhere. @param network  not null
  GraphPolicyAgent(const AgentContext& context,
                   const Config& config,
                   std::shared_ptr<const PairNetwork> network);
  bool Finished() const override;
  const UpdateTable* updates() const override { return core_ ? &core_->table() : nullptr; }
  bool learns_policy() const override { return core_.has_value(); }
  void SavePolicy(std::ostream& out) override { own_->SavePolicy(out); }

  /// One batch of edits.
  struct Batch {
    Placement base;           ///< that they are edits of
    Var logits;               ///< [num_groups, num_devices] on the tape
    std::optional<Var> loss;  ///< of the policy gradient; none if no edit was drawn
    double gaining = 0;       ///< share of the edits that gain
    double best_gain = 0;     ///< share of the step time that the best of all saves; 0: none does
  };
  /// Makes a batch, and the search goes on from the best; or begins anew, which is no batch.
  /// @param tape  of the loss    @pre a step was made
  std::optional<Batch> Advance(Tape& tape, Evaluator& evaluator);
  /// The features of the placement that comes next. @pre a step was made
  const PairFeatures& Look(Evaluator& evaluator);
  const ScoredPlacement& at() const { return current(); }

 private:
  GraphPolicyAgent(const AgentContext& context,
                   const Config& config,
                   std::shared_ptr<PairNetwork> own,
                   std::shared_ptr<const PairNetwork> network);
  void Improve(Evaluator& evaluator) override;
  void Adopted() override;
  void VisitSearch(StateVisitor& v) override;
  void Restart(Evaluator& evaluator);
  /// Weights that no file has: a saved state must.
  bool HasDrawnWeights() const { return own_ != nullptr && config_.network == "random"; }
  /// The share of the step time that a score saves; 1 and -1 for less and more memory missing.
  double Gain(const Score& score) const;
  Var Logits(Tape& tape) const;
  Var Loss(Tape& tape, Var logits, const std::vector<double>& gains) const;
  /// Adds combinations of the edits that gain. @return the best of them, if there are any
  std::optional<ScoredPlacement> Merged(Evaluator& evaluator, const std::vector<double>& gains);
  void MoveTo(const ScoredPlacement& to);

  Config config_;
  EditProposer proposer_;
  MoveProposer perturber_;
  PairFeatures features_;
  std::shared_ptr<PairNetwork> own_;            // with `learn`: the one that learns
  std::shared_ptr<const PairNetwork> network_;  // nullptr: none
  std::optional<LearnerCore> core_;             // with `learn`
  PerturbedRestarts restarts_;
  std::int64_t patience_ = 0;  // evaluations
  std::int64_t stale_ = 0;     // evaluations since the current placement last improved
  std::int64_t batches_ = 0;
  TriedEdits tried_;  // from the current placement
  EditBatch edits_;
  NeighborBatch candidates_;
};

}  // namespace emplace
