#include "agents/graph_policy/graph_policy_config.h"

#include "agents/starts/start_help.h"

namespace emplace {

GraphPolicyConfig::GraphPolicyConfig() {
  optimizer.schedule.learning_rate = 1e-3;
}

void EditConfig::Visit(FieldVisitor& v) {
  v.Field("single", single, "weight of edits of one group");
  v.Field("neighbors", neighbors, "weight of edits of a group and some of its neighbours");
  v.Field("block", block, "weight of edits of a run of groups in topological order");
  v.Field("whole", whole, "weight of edits of all groups, each by itself");
  v.Field("attraction",
          attraction,
          "largest logit added for the device that the edit's first group goes to");
}

void EditTrainingConfig::Visit(FieldVisitor& v) {
  v.Field("teacher_evaluations",
          teacher_evaluations,
          "of the multilevel search whose best placement is imitated; 0: none");
  v.Field("search_evaluations", search_evaluations, "of a search, which then begins anew");
  v.Field("problems", problems, "problems per step of the optimizer");
  v.Field("imitation", imitation, "weight of the imitation in the first stage");
  v.Field("imitation_share", imitation_share, "of the updates that are planned: the first stage");
  v.Field("imitation_later", imitation_later, "weight of the imitation in the second stage");
  v.Field("reinforcement", reinforcement, "weight of the policy gradient in the second stage");
  v.Field("entropy", entropy, "weight of the mean entropy of a group in the second stage");
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
  v.Field("samples", samples, "placements drawn from one pass through the network");
  v.Field("batches", batches, "after so many batches it ends; -1: the budget ends it");
  v.Field("learn", learn, "go on learning on the problem at hand, by policy gradient");
  v.Field("merge", merge, "evaluate edits that gain together as well");
  v.Field("width", width, "of the network; a policy has its own");
  v.Field("rounds", rounds, "of messages between groups; a policy has its own");
  v.Group("edits", "what is drawn", [this](FieldVisitor& g) { edits.Visit(g); });
  v.Field("patience", patience, "evaluations without improvement before a restart");
  v.Field("perturbation", perturbation, "share of groups moved at a restart; doubles");
  v.Group("training", "of the policy, by emplace generalize", [this](FieldVisitor& g) {
    training.Visit(g);
  });
  v.Group("optimizer",
          "gradient descent, of the training and with `learn`",
          [this](FieldVisitor& g) { optimizer.Visit(g); });
}

}  // namespace emplace
