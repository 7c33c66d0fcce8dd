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
  v.Field("start", start, "placements to begin at the best of; nothing: at a random one");
  v.Field("episodes", episodes, Between(1, 1e6), "on each graph per update");
  v.Field("baseline_episodes",
          baseline_episodes,
          Between(0, 1e6),
          "last episodes whose gains make the baseline, at least those of the update; 0: none");
  v.Field("advantage",
          advantage,
          "of a step: difference to the baseline, or standardized: divided by its deviation, too");
  v.Field("normalize_advantages",
          normalize_advantages,
          "divide advantages by their root mean square over the episode");
  v.Field("entropy_weight", entropy_weight, AtLeast(0), "weight of the entropy bonus at first");
  v.Field("entropy_final", entropy_final, AtLeast(0), "weight that it falls to");
  v.Field(
      "entropy_share", entropy_share, Between(1e-6, 1), "share of the search over which it falls");
  v.Field("move_share",
          move_share,
          Between(0, 1),
          "of its groups that an episode should move: `stay` is adapted to it; 0: as it is");
  v.Field("stays",
          stays,
          Between(0, 1e9),
          "steps that move nothing of which an update learns, drawn for each episode; 0: of all");
  v.Field(
      "imitation_weight", imitation_weight, AtLeast(0), "pull towards the best placement so far");
  v.Field("patience",
          patience,
          AtLeast(0),
          "updates without a better placement before a restart; 0: never restarts");
  v.Field("restart", restart, "placements that restarts without a better one begin at, in turn");
  v.Group("ppo", "steps of descent on one episode", [this](FieldVisitor& g) { ppo.Visit(g); });
  v.Group("optimizer", "gradient descent", [this](FieldVisitor& g) { optimizer.Visit(g); });
  v.Field("greedy_every",
          greedy_every,
          AtLeast(0),
          "updates between episodes of the most probable choices; 0: never");
  v.Field("policy",
          policy,
          "file with the policy to begin with, whose settings are those that are not given; empty: "
          "random weights");
  v.Field(
      "updates",
      updates,
      AtLeast(0),
      "updates before a last episode of the most probable choices; none: until the budget ends, "
      "0: no such episode");
}

}  // namespace emplace
