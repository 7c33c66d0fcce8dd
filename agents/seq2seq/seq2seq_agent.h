#pragma once

// Learns where to put the groups of one graph by policy gradient on a sequence-to-sequence network,
// as in A. Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, ICML 2017.
// The network: seq2seq_network.h; the learning: ../policy_gradient/policy_gradient.h. A step is one
// update: samples are drawn and evaluated, and the pass that drew them is the one that is
// differentiated.
//
// The defaults are our `tuned` preset; configs/agents/seq2seq_paper.yaml has the paper's settings
// as far as they are known. One process learns; the paper's asynchronous controllers are not
// modelled.
//
// Ends after one evaluation when no group has a choice; otherwise the budget ends it.

#include "agents/policy_gradient/policy_gradient.h"
#include "agents/seq2seq/seq2seq_network.h"
#include "framework/base/random.h"
#include "framework/search/agent.h"

namespace emplace {

struct Seq2SeqConfig {
  Seq2SeqNetworkConfig network;
  PolicyGradientConfig learning;
  Seq2SeqConfig();
  void Visit(FieldVisitor& v) {
    network.Visit(v);
    learning.Visit(v);
  }
};

class Seq2SeqAgent final : public Agent {
 public:
  using Config = Seq2SeqConfig;
  /// @throws SettingError
  Seq2SeqAgent(const AgentContext& context, const Config& config);
  void Step(Evaluator& evaluator) override;
  bool Finished() const override { return finished_; }
  const UpdateTable* updates() const override { return &learning_.table(); }
  void Save(std::ostream& out) const override;
  void Load(std::istream& in) override;

 private:
  void Restart();

  std::shared_ptr<const Problem> problem_;
  Config config_;
  Rng rng_;
  ParameterSet parameters_;
  Seq2SeqNetwork network_;
  PolicyGradient learning_;
  int num_decisions_ = 0;
  bool finished_ = false;
};

}  // namespace emplace
