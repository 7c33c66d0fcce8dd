#include "agents/learned/learned_config.h"

#include "agents/starts/start_help.h"

namespace emplace {

LearnedConfig::LearnedConfig() {
  optimizer.schedule.learning_rate = 2e-3;
}

void MoveTrainingConfig::Visit(FieldVisitor& v) {
  v.Field("samples", samples, "moves per problem and update whose gains are evaluated");
  v.Field("merged", merged, "how often groups are merged before a search begins, at most");
  v.Field("growth",
          growth,
          "evaluations of a search between two updates, as a share of those it has made");
  v.Field("most_evaluations", most_evaluations, "of a search, which then begins anew");
  v.Field("batch", batch, "samples per step of the optimizer");
  v.Field("gain_exponent",
          gain_exponent,
          "exponent of the gain in a gaining move's weight; 0: all weigh the same");
}

void LearnedConfig::Visit(FieldVisitor& v) {
  v.Field("start", start, kStartHelp);
  v.Field("policy",
          policy,
          "the network that ranks moves: default (of this program) or a file, whose settings are "
          "those that are not given");
  v.Field("ranking", ranking, "network, or none: moves in random order");
  v.Field("pool", pool, "moves that are drawn and ranked at a time");
  v.Field("tries", tries, "of them, the best-ranked ones, that are evaluated at most");
  v.Field("batch", batch, "of those, how many are evaluated together, the best of which is taken");
  v.Field("temperature",
          temperature,
          "of the ranking: Gumbel noise of this scale is added to the network's scores; 0: none");
  v.Field(
      "explore",
      explore,
      "share of the moves that are tried whatever their rank, just before a restart; 0 after an "
      "improvement, in between in proportion to the evaluations without one");
  v.Field("patience", patience, "evaluations without improvement before a restart");
  v.Field("perturbation", perturbation, "share of groups moved at a restart; doubles");
  v.Field("windows", windows, "share of the moves that put a window of the schedule on one device");
  v.Field("lists", lists, "share of the moves that place a window by list scheduling");
  v.Field("coarsest", coarsest, "groups on the coarsest level");
  v.Field("effort", effort, "evaluations per level of the first cycle");
  v.Group("moves", "what is drawn", [this](FieldVisitor& g) { moves.Visit(g); });
  v.Group("training", "of the network, by emplace generalize", [this](FieldVisitor& g) {
    training.Visit(g);
  });
  v.Group("optimizer", "gradient descent of the training", [this](FieldVisitor& g) {
    optimizer.Visit(g);
  });
}

}  // namespace emplace
