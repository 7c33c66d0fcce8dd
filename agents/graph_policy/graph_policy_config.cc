#include "agents/graph_policy/graph_policy_config.h"

#include "agents/initial_placements/start_setting.h"

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
  v.Field(
      "whole", whole, Between(0, 1e6), "weight of edits of all groups, each drawn independently");
  v.Field("attraction",
          attraction,
          Between(0, 50),
          "largest logit added for the new device of the edit's first group");
}

void EditTrainingConfig::Visit(FieldVisitor& v) {
  v.Field("teacher_evaluations",
          teacher_evaluations,
          Between(0, 1e9),
          "evaluations of the multilevel search whose best placement is imitated; 0: none");
  v.Field("search_evaluations",
          search_evaluations,
          Between(1, 1e9),
          "evaluations of a search before it starts again");
  v.Field("problems", problems, Between(1, 1e6), "problems per step of the optimizer");
  v.Field("imitation", imitation, Between(0, 1e6), "weight of the imitation in the first stage");
  v.Field("imitation_share",
          imitation_share,
          Between(0, 1),
          "length of the first stage, as a share of the planned updates");
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
          "initial weights: default (included in emplace) or a file; settings that are not given "
          "are those of the file");
  v.Field("network",
          network,
          "policy (weights of `policy`), random (untrained weights), or none (edits are drawn "
          "without a network)");
  v.Field(
      "samples", samples, Between(1, 1e6), "placements drawn from one pass through the network");
  v.Field("batches", batches, Between(0, 1e9), "number of batches; none: until the budget ends");
  v.Field("learn", learn, "continue learning on the problem by policy gradient");
  v.Field("merge", merge, "also evaluate combinations of edits that improve the placement");
  v.Field("width", width, Between(1, 1024), "width of the network; a policy file sets its own");
  v.Field("rounds",
          rounds,
          Between(0, 64),
          "rounds of messages between groups; a policy file sets its own");
  v.Group("edits", "drawn edits", [this](FieldVisitor& g) { edits.Visit(g); });
  v.Field(
      "patience", patience, Between(1, 1e9), "evaluations without improvement before a restart");
  v.Field(
      "perturbation",
      perturbation,
      Between(0, 1),
      "share of groups moved at a restart; doubles with each restart without a better placement");
  v.Group("training", "training of the policy by `emplace generalize`", [this](FieldVisitor& g) {
    training.Visit(g);
  });
  v.Group("optimizer", "gradient descent of the training and of `learn`", [this](FieldVisitor& g) {
    optimizer.Visit(g);
  });
}

}  // namespace emplace
