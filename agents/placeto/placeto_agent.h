#pragma once

// Improves a placement group by group with a graph neural network, as in R. Addanki et al.,
// Placeto: Learning Generalizable Device Placement Algorithms for Distributed Machine Learning,
// NeurIPS 2019. The decision process is in episode.h, the policy in placeto_network.h, the learning
// in placeto_learner.h.
//
// A step of the agent is one episode with its update. Every `greedy_every` updates an episode of
// the most probable choices follows. The defaults are our `tuned` preset;
// configs/agents/placeto_paper.yaml has the published settings as far as they are known.
//
// An episode needs at most num_groups + 1 evaluations and num_groups passes through a network over
// all groups, so time and memory grow with num_groups^2. Graphs are coarsened to hundreds of
// groups; the registry refuses more than 20,000.
//
// The policy's size does not depend on the graph. PlacetoTrainer trains one policy on several
// graphs; the setting `policy` makes the agent begin with the policy in a file. `updates: n` makes
// n updates (fine-tuning) and then episodes of the most probable choices, `updates: 0` only these
// (zero-shot); without `updates` it learns until the budget ends. With `learn: false` the policy
// does not change, and `updates` counts episodes that are drawn from it.

#include "agents/placeto/placeto_learner.h"
#include "agents/shared/policy_file.h"
#include "framework/search/agent.h"
#include "framework/search/policy_trainer.h"

namespace emplace {

class PlacetoTrainer final : public PolicyTrainer {
 public:
  using Config = PlacetoConfig;
  /// `patience`, `move_share` and `greedy_every` have no effect.
  /// @throws as PlacetoLearner; SettingError also for `updates`, which belong to the agent
  PlacetoTrainer(const TrainerContext& context, const Config& config);
  void Step(std::span<Evaluator* const> evaluators) override { learner_.Update(evaluators); }
  const UpdateTable& updates() const override { return learner_.table(); }
  void SavePolicy(std::ostream& out) override { learner_.SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  std::vector<std::shared_ptr<const Problem>> problems_;
  PlacetoLearner learner_;
};

class PlacetoAgent final : public Agent, public PolicySource {
 public:
  using Config = PlacetoConfig;
  using Trainer = PlacetoTrainer;
  /// @throws as PlacetoLearner
  PlacetoAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  const UpdateTable* updates() const override { return &learner_.table(); }
  bool learns_policy() const override { return config_.learn && config_.updates != 0; }
  void SavePolicy(std::ostream& out) override { learner_.SavePolicy(out); }
  void VisitState(StateVisitor& v) override;

 private:
  std::shared_ptr<const Problem> problem_;
  Config config_;
  PlacetoLearner learner_;
  bool finished_ = false;
};

}  // namespace emplace
