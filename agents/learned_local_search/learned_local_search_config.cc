#include "agents/learned_local_search/learned_local_search_config.h"

#include <fmt/format.h>

#include "agents/initial_placements/start_setting.h"
#include "framework/config/setting_error.h"

namespace emplace {

LearnedLocalSearchConfig::LearnedLocalSearchConfig() {
  moves.part = 5;  // as in the training of the default network
  optimizer.schedule.learning_rate = 2e-3;
}

void MoveTrainingConfig::Visit(FieldVisitor& v) {
  v.Field(
      "samples", samples, Between(1, 1e6), "moves per problem and update whose gains are measured");
  v.Field("merged",
          merged,
          Between(0, 100),
          "largest number of merges of groups before a search starts");
  v.Field("growth",
          growth,
          Between(0, 1e6),
          "evaluations of a search between two updates, as a share of its evaluations so far");
  v.Field("most_evaluations",
          most_evaluations,
          Between(1, 1e9),
          "evaluations of a search before it starts again");
  v.Field("batch", batch, Between(1, 1e6), "samples per step of the optimizer");
  v.Field("gain_exponent",
          gain_exponent,
          Between(0, 10),
          "exponent of the gain in the weight of an improving move; 0: equal weights");
}

void LearnedLocalSearchConfig::Visit(FieldVisitor& v) {
  v.Field("start", start, kStartHelp);
  v.Field("policy",
          policy,
          "network that ranks moves: default (included in emplace) or a file; settings that are "
          "not given are those of the file");
  v.Field("ranking", ranking, "network, or none (moves in random order)");
  v.Field("pool", pool, Between(1, 1e6), "moves that are drawn and ranked together");
  v.Field("tries",
          tries,
          Between(1, 1e6),
          "largest number of the best-ranked moves of a pool that are evaluated");
  v.Field("batch",
          batch,
          Between(1, 1e6),
          "moves that are evaluated together, the best of which is accepted");
  v.Field("temperature",
          temperature,
          Between(0, 1e6),
          "scale of the Gumbel noise that is added to the network's scores; 0: none");
  v.Field("explore",
          explore,
          Between(0, 1),
          "share of the moves that are evaluated regardless of their rank. It grows with the "
          "evaluations without an improvement, from 0 after an improvement to this value before a "
          "restart");
  v.Field(
      "patience", patience, Between(1, 1e9), "evaluations without improvement before a restart");
  v.Field(
      "perturbation",
      perturbation,
      Between(0, 1),
      "share of groups moved at a restart; doubles with each restart without a better placement");
  v.Field("windows",
          windows,
          Between(0, 1),
          "share of the moves that put a window of the schedule on one device");
  v.Field(
      "lists", lists, Between(0, 1), "share of the moves that place a window by list scheduling");
  v.Field("coarsest", coarsest, Between(1, 1e9), "groups on the coarsest level");
  v.Field("flat_cycles",
          flat_cycles,
          Between(0, 1e9),
          "first cycles that search the given groups alone, without levels");
  v.Field("effort", effort, Between(1, 1e12), "evaluations per level of the first cycle");
  v.Group("moves", "drawn moves", [this](FieldVisitor& g) { moves.Visit(g); });
  v.Group("training", "training of the network by `emplace generalize`", [this](FieldVisitor& g) {
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
        fmt::format("expected windows + lists of at most 1, got {} + {}", windows, lists));
  }
  RequireMoves(moves, "moves");
  optimizer.Validate("optimizer");
}

}  // namespace emplace
