#include "agents/placeto/placeto_config.h"

namespace emplace {

PlacetoConfig::PlacetoConfig() {
  ppo.penalty = "clip";
  ppo.epochs = 2;
  episode.discount = 0.8;
  network.features.devices = "scored";
  network.stay = 2;
  optimizer.method = "adam";
  optimizer.schedule.learning_rate = 3e-3;
  optimizer.clip_norm = 1.25;
}

void PlacetoConfig::Visit(FieldVisitor& v) {
  network.Visit(v);
  v.Group("episode", "the decision process", [this](FieldVisitor& g) { episode.Visit(g); });
  v.Field("start", start, "initial placements, of which the best is used; nothing: a random one");
  v.Field("parts",
          parts,
          AtLeast(0),
          "number of parts, sets of groups, that the first episodes visit instead of groups; later "
          "ones visit four times as many, and so on up to the groups; only from a random start and "
          "with episode.begin best; 0: groups from the first episode on");
  v.Field("part_patience",
          part_patience,
          AtLeast(1),
          "updates without a better placement before the episodes visit more parts");
  v.Field("episodes", episodes, Between(1, 1e6), "episodes on each graph per update");
  v.Field("baseline_episodes",
          baseline_episodes,
          Between(0, 1e6),
          "number of last episodes whose gains form the baseline, at least those of the update; 0: "
          "none");
  v.Field("advantage",
          advantage,
          "advantage of a step: difference (to the baseline) or standardized (also divided by the "
          "standard deviation)");
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the episode");
  v.Field("entropy_weight", entropy_weight, AtLeast(0), "initial weight of the entropy bonus");
  v.Field("entropy_final", entropy_final, AtLeast(0), "final weight of the entropy bonus");
  v.Field("entropy_share",
          entropy_share,
          Between(1e-6, 1),
          "share of the search during which the weight falls");
  v.Field("move_share",
          move_share,
          Between(0, 1),
          "target share of the groups that an episode moves, to which `stay` is adapted; 0: not "
          "adapted");
  v.Field(
      "stays",
      stays,
      Between(0, 1e9),
      "number of steps without a move that an update learns from, drawn for each episode; 0: all");
  v.Field(
      "imitation_weight", imitation_weight, AtLeast(0), "pull towards the best placement so far");
  v.Field("patience",
          patience,
          AtLeast(0),
          "updates without a better placement before a restart; 0: never restarts");
  v.Field("restart", restart, "initial placements of restarts without a better placement, in turn");
  v.Group("ppo", "steps of descent on one episode", [this](FieldVisitor& g) { ppo.Visit(g); });
  v.Group("optimizer", "gradient descent", [this](FieldVisitor& g) { optimizer.Visit(g); });
  v.Field("greedy_every",
          greedy_every,
          AtLeast(0),
          "updates between episodes that take the most probable choices; 0: never");
  v.Field("policy",
          policy,
          "file of the initial policy; settings that are not given are those of the file; empty: "
          "random weights");
  v.Field("updates",
          updates,
          AtLeast(0),
          "updates before the last episodes, which take the most probable choices; none: until the "
          "budget ends");
  v.Field("learn", learn, "false: the episodes are drawn from the policy as it is");
}

}  // namespace emplace
