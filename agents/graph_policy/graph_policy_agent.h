#pragma once

// Searches with a policy over whole placements that was trained on other graphs and clusters. One
// pass through a graph network gives every group a distribution over the devices. A batch of
// placements is drawn from them and evaluated. Machines often have equal devices, and a policy that
// draws each group independently cannot say which of them it means. This policy therefore edits:
// its input is a placement with the schedule of its step (pair_features.h), its output is each
// group's device in a better one.
//
// The first step evaluates the placements named by `start` and begins at the best. Each further
// step is a batch from placement x:
//
// - x is evaluated once more for its schedule, and the network (pair_network.h) computes the
//   logits.
// - `samples` edits of x are drawn (edits.h) and evaluated. The first of them is the most probable
//   device of every group.
// - With `merge`, the gaining edits that touch no group twice are also combined: the best two of
//   them, the best four, and so on up to all of them are evaluated.
// - The best placement of all becomes x if it is at least as good as x.
//
// After `patience` evaluations without a better placement, or about six times the number of
// single-group moves if that is less, the search continues from a perturbation of the best
// placement, as in hill_climb. The agent ends after n batches with `batches: n` (zero-shot), and at
// the end of the budget with -1. The starts are evaluated as well, so the result is never worse
// than the best of them; the start `single` is a single device.
//
// With `learn` a step of policy gradient on the current problem follows each batch. Let r_i be the
// gain of edit i: the share of the step time that it saves. Its advantage A_i is the value of
//
//   f(r) = sqrt(min(r, 0.05) / 0.01) if r > 0, else max(r, -0.01) / 0.02
//
// less the mean over the batch, divided by the deviation over the batch. The loss is the mean over
// the batch of -A_i / sqrt(n_i) times the sum of the log-probabilities of the edit's n_i decisions.
//
// References: one-shot placement by a graph network with features of devices, also refined in
// iterations: Y. Zhou et al., Transferable Graph Optimizers for ML Compilers (GO), NeurIPS 2020.
// Training by imitation of a search: A. Paliwal et al., REGAL, ICLR 2020; X. Yao et al., DOPPLER,
// 2025. The network, its inputs, the edits and `learn` are our own.

#include <memory>
#include <optional>
#include <vector>

#include "agents/graph_policy/edits.h"
#include "agents/graph_policy/graph_policy_config.h"
#include "agents/graph_policy/pair_features.h"
#include "agents/graph_policy/pair_network.h"
#include "agents/shared/local_search/local_search_agent.h"
#include "agents/shared/local_search/perturbed_restarts.h"
#include "agents/shared/policy_file.h"
#include "agents/shared/policy_gradient/learner_core.h"

namespace emplace {

class GraphPolicyTrainer;

class GraphPolicyAgent final : public LocalSearchAgent, public PolicySource {
 public:
  using Config = GraphPolicyConfig;
  using Trainer = GraphPolicyTrainer;
  /// Settings that are fixed by a trained policy; other values given with it are refused.
  static constexpr const char* kPolicyStructure[] = {"width", "rounds"};
  /// @throws SettingError for an unknown start, a policy that cannot be read, or settings that
  ///   contradict each other
  GraphPolicyAgent(const AgentContext& context, const Config& config);
  /// Uses a network that is being trained elsewhere. @param network  not null
  GraphPolicyAgent(const AgentContext& context,
                   const Config& config,
                   std::shared_ptr<const PairNetwork> network);
  bool Finished() const override;
  const UpdateTable* updates() const override { return core_ ? &core_->table() : nullptr; }
  bool learns_policy() const override { return core_.has_value(); }
  void SavePolicy(std::ostream& out) override { own_->SavePolicy(out); }

  /// One batch of edits.
  struct Batch {
    Placement base;           ///< placement that is edited
    Var logits;               ///< [num_groups, num_devices] on the tape
    std::optional<Var> loss;  ///< of the policy gradient; none without drawn edits
    double gaining = 0;       ///< share of the edits that improve the placement
    double best_gain = 0;     ///< share of the step time saved by the best; 0: no gain
  };
  /// Evaluates a batch and moves the search to the best placement. If the patience is exhausted,
  /// restarts the search instead and returns nothing.
  /// @param tape  of the loss
  /// @pre a step was made
  std::optional<Batch> Advance(Tape& tape, Evaluator& evaluator);
  /// Computes the features of the current placement. @pre a step was made
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
  /// True if the weights were drawn at random and are in no file, so that a saved state contains
  /// them.
  bool HasDrawnWeights() const { return own_ != nullptr && config_.network == "random"; }
  /// Returns the share of the step time that a score saves, or 1 (-1) if less (more) memory is
  /// missing.
  double Gain(const Score& score) const;
  Var Logits(Tape& tape) const;
  Var Loss(Tape& tape, Var logits, const std::vector<double>& gains) const;
  /// Evaluates combinations of the gaining edits. Returns the best of them, if there are any.
  std::optional<ScoredPlacement> Merged(Evaluator& evaluator, const std::vector<double>& gains);
  void MoveTo(const ScoredPlacement& to);

  Config config_;
  EditProposer proposer_;
  MoveProposer perturber_;
  PairFeatures features_;
  std::shared_ptr<PairNetwork> own_;            // owned by the agent; `learn` trains it
  std::shared_ptr<const PairNetwork> network_;  // nullptr: none
  std::optional<LearnerCore> core_;             // with `learn`
  PerturbedRestarts restarts_;
  std::int64_t patience_ = 0;  // evaluations
  std::int64_t stale_ = 0;     // evaluations since the current placement last improved
  std::int64_t batches_ = 0;
  TriedEdits tried_;  // edits of the current placement
  EditBatch edits_;
  NeighborBatch candidates_;
};

}  // namespace emplace
