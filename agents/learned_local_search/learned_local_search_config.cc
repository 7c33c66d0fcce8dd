#include "agents/learned_local_search/learned_local_search_config.h"

#include <fmt/format.h>

#include "agents/initial_placements/start_help.h"
#include "framework/config/setting_error.h"

namespace emplace {

LearnedLocalSearchConfig::LearnedLocalSearchConfig() {
  optimizer.schedule.learning_rate = 2e-3;
}

void MoveTrainingConfig::Visit(FieldVisitor& v) {
  v.Field("samples",
          samples,
          Between(1, 1e6),
          "moves per problem and update whose gains are evaluated");
  v.Field("merged",
          merged,
          Between(0, 100),
          "how often groups are merged before a search begins, at most");
  v.Field("growth",
          growth,
          Between(0, 1e6),
          "evaluations of a search between two updates, as a share of those it has made");
  v.Field(
      "most_evaluations", most_evaluations, Between(1, 1e9), "of a search, which then begins anew");
  v.Field("batch", batch, Between(1, 1e6), "samples per step of the optimizer");
  v.Field("gain_exponent",
          gain_exponent,
          Between(0, 10),
          "exponent of the gain in a gaining move's weight; 0: all weigh the same");
}

void LearnedLocalSearchConfig::Visit(FieldVisitor& v) {
  v.Field("start", start, kStartHelp);
  v.Field("policy",
          policy,
          "the network that ranks moves: default (of this program) or a file, whose settings are "
          "those that are not given");
  v.Field("ranking", ranking, "network, or none: moves in random order");
  v.Field("pool", pool, Between(1, 1e6), "moves that are drawn and ranked at a time");
  v.Field(
      "tries", tries, Between(1, 1e6), "of them, the best-ranked ones, that are evaluated at most");
  v.Field("batch",
          batch,
          Between(1, 1e6),
          "of those, how many are evaluated together, the best of which is taken");
  v.Field("temperature",
          temperature,
          Between(0, 1e6),
          "of the ranking: Gumbel noise of this scale is added to the network's scores; 0: none");
  v.Field(
      "explore",
      explore,
      Between(0, 1),
      "share of the moves that are tried whatever their rank, just before a restart; 0 after an "
      "improvement, in between in proportion to the evaluations without one");
  v.Field(
      "patience", patience, Between(1, 1e9), "evaluations without improvement before a restart");
  v.Field(
      "perturbation", perturbation, Between(0, 1), "share of groups moved at a restart; doubles");
  v.Field("windows",
          windows,
          Between(0, 1),
          "share of the moves that put a window of the schedule on one device");
  v.Field(
      "lists", lists, Between(0, 1), "share of the moves that place a window by list scheduling");
  v.Field("coarsest", coarsest, Between(1, 1e9), "groups on the coarsest level");
  v.Field("effort", effort, Between(1, 1e12), "evaluations per level of the first cycle");
  v.Group("moves", "what is drawn", [this](FieldVisitor& g) { moves.Visit(g); });
  v.Group("training", "of the network, by emplace generalize", [this](FieldVisitor& g) {
    training.Visit(g);
  });
  v.Group("optimizer", "gradient descent of the training", [this](FieldVisitor& g) {
    optimizer.Visit(g);
  });
}

void LearnedLocalSearchConfig::Validate() const {
  if (ranking != "network" && ranking != "none") {
    throw SettingError("ranking",
                       fmt::format("expected \"network\" or \"none\", got \"{}\"", ranking));
  }
  if (windows > 1 - lists) {
    throw SettingError(
        "windows",
        fmt::format("expected at most 1 together with lists, got {} + {}", windows, lists));
  }
  RequireMoves(moves, "moves");
  optimizer.Validate("optimizer");
}

}  // namespace emplace
