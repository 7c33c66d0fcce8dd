#pragma once

// Learns a placement of one graph by policy gradient on a sequence-to-sequence network, as in A.
// Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, ICML 2017. The
// network is in seq2seq_network.h, the learning in agents/shared/policy_gradient/policy_gradient.h.
// One step is one update: it draws samples, evaluates them, and differentiates the pass that drew
// them. With `ppo.epochs` > 1 further passes over the same samples follow.
//
// The defaults are our `tuned` preset. configs/agents/seq2seq_paper.yaml has the paper's settings
// as far as they are known, seq2seq_spotlight.yaml those of Spotlight.
//
// Deviation: one learner with `samples` workers replaces the up to 20 controllers of the paper,
// which share parameters asynchronously. The controllers shorten the hours on hardware; per
// evaluation they only add gradients of older parameters. `controllers` makes several controllers
// take turns (agents/shared/policy_gradient/controllers.h); agents/README.md reports their cost per
// evaluation.
//
// With `policy` the agent starts from a policy that was trained on other problems
// (seq2seq_trainer.h); a restart returns to that policy and draws other samples. With a
// non-negative `updates` N the agent makes N updates, evaluates one greedy placement (the most
// probable device in each step), and ends. N = 0 is the zero-shot use of a policy.
//
// `parts` (ours) lets the first updates of a search draw whole parts of the graph
// (agents/shared/part_draws.h). An untrained policy would otherwise learn to use few devices only,
// because nearly every transfer crosses devices in its first placements.
//
// With `start` the first step evaluates the start and trains the policy towards it, and so does
// every restart; this holds also for a policy given by `policy`.
//
// The agent also ends after one evaluation if no group has a choice; otherwise the budget ends it.

#include <optional>

#include "agents/seq2seq/seq2seq_policy.h"
#include "agents/seq2seq/seq2seq_trainer.h"
#include "agents/shared/policy_file.h"
#include "agents/shared/policy_gradient/policy_gradient.h"
#include "framework/base/random.h"
#include "framework/search/agent.h"

namespace emplace {

class Seq2SeqAgent final : public Agent, public PolicySource {
 public:
  using Config = Seq2SeqConfig;
  using Trainer = Seq2SeqTrainer;
  /// @throws SettingError; for `policy` as ReadSeq2SeqPolicy
  Seq2SeqAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  const UpdateTable* updates() const override { return &learning_.table(); }
  bool learns_policy() const override { return config_.updates != 0; }
  void SavePolicy(std::ostream& out) override;
  void VisitState(StateVisitor& v) override;

 private:
  void Restart(std::int64_t remaining);
  void PullToStart();
  void EvaluateGreedy(Evaluator& evaluator);
  void Update(Evaluator& evaluator);

  std::shared_ptr<const Problem> problem_;
  Interrupt interrupt_;
  Config config_;
  Rng rng_;
  std::optional<Seq2SeqPolicy> policy_;
  Seq2SeqVocabulary vocabulary_;
  ParameterSet parameters_;
  Seq2SeqNetwork network_;
  Seq2SeqInputs inputs_;
  PartDraws parts_;
  PolicyGradient learning_;
  bool finished_ = false;
};

}  // namespace emplace
