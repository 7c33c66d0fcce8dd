#include "agents/graph_policy/graph_policy_config.h"

#include "agents/initial_placements/start_help.h"

namespace emplace {

GraphPolicyConfig::GraphPolicyConfig() {
  optimizer.schedule.learning_rate = 1e-3;
}

void EditConfig::Visit(FieldVisitor& v) {
  v.Field("single", single, Between(0, 1e6), "weight of edits of one group");
  v.Field("neighbors",
          neighbors,
          Between(0, 1e6),
          "weight of edits of a group and some of its neighbours");
  v.Field(
      "block", block, Between(0, 1e6), "weight of edits of a run of groups in topological order");
  v.Field("whole", whole, Between(0, 1e6), "weight of edits of all groups, each by itself");
  v.Field("attraction",
          attraction,
          Between(0, 50),
          "largest logit added for the device that the edit's first group goes to");
}

void EditTrainingConfig::Visit(FieldVisitor& v) {
  v.Field("teacher_evaluations",
          teacher_evaluations,
          Between(0, 1e9),
          "of the multilevel search whose best placement is imitated; 0: none");
  v.Field("search_evaluations",
          search_evaluations,
          Between(1, 1e9),
          "of a search, which then begins anew");
  v.Field("problems", problems, Between(1, 1e6), "problems per step of the optimizer");
  v.Field("imitation", imitation, Between(0, 1e6), "weight of the imitation in the first stage");
  v.Field("imitation_share",
          imitation_share,
          Between(0, 1),
          "of the updates that are planned: the first stage");
  v.Field("imitation_later",
          imitation_later,
          Between(0, 1e6),
          "weight of the imitation in the second stage");
  v.Field("reinforcement",
          reinforcement,
          Between(0, 1e6),
          "weight of the policy gradient in the second stage");
  v.Field("entropy",
          entropy,
          Between(0, 1e6),
          "weight of the mean entropy of a group in the second stage");
}

void GraphPolicyConfig::Visit(FieldVisitor& v) {
  v.Field("start", start, kStartHelp);
  v.Field("policy",
          policy,
          "weights to begin with: default (of this program) or a file, whose settings are those "
          "that are not given");
  v.Field("network",
          network,
          "policy, random (first weights), or none: edits are drawn without a network");
  v.Field(
      "samples", samples, Between(1, 1e6), "placements drawn from one pass through the network");
  v.Field("batches", batches, Between(0, 1e9), "batches of a search; none: until the budget ends");
  v.Field("learn", learn, "go on learning on the problem at hand, by policy gradient");
  v.Field("merge", merge, "evaluate edits that gain together as well");
  v.Field("width", width, Between(1, 1024), "of the network; a policy has its own");
  v.Field("rounds", rounds, Between(0, 64), "of messages between groups; a policy has its own");
  v.Group("edits", "what is drawn", [this](FieldVisitor& g) { edits.Visit(g); });
  v.Field(
      "patience", patience, Between(1, 1e9), "evaluations without improvement before a restart");
  v.Field(
      "perturbation", perturbation, Between(0, 1), "share of groups moved at a restart; doubles");
  v.Group("training", "of the policy, by emplace generalize", [this](FieldVisitor& g) {
    training.Visit(g);
  });
  v.Group("optimizer",
          "gradient descent, of the training and with `learn`",
          [this](FieldVisitor& g) { optimizer.Visit(g); });
}

}  // namespace emplace
