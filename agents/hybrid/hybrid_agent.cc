#include "agents/hybrid/hybrid_agent.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "agents/common/devices.h"
#include "agents/improvement/counted_evaluator.h"
#include "agents/learned/ranked_search.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr double kFarthest = 0.5;  // from the best placement, where a restart forgets it

const HybridConfig& CheckedHybrid(const HybridConfig& config) {
  if (config.refinement != "network" && config.refinement != "plain" &&
      config.refinement != "none") {
    throw SettingError(
        "refinement",
        fmt::format("expected \"network\", \"plain\" or \"none\", got \"{}\"", config.refinement));
  }
  if (config.draws != "both" && config.draws != "distribution" && config.draws != "perturbation") {
    throw SettingError(
        "draws",
        fmt::format("expected \"both\", \"distribution\" or \"perturbation\", got \"{}\"",
                    config.draws));
  }
  RequireRange("effort", static_cast<double>(config.effort), 1, 1e12);
  RequireRange("samples", config.samples, 1, 1e6);
  RequireRange("cohesion", config.cohesion, 0, 1);
  RequireRange("population", config.population, 1, 1e6);
  RequireRange("niche", config.niche, 0, 1);
  RequireRange("step", config.step, 0, 1);
  RequireRange("epsilon", config.epsilon, 0, 1);
  RequireRange("patience", config.patience, 1, 1e9);
  RequireRange("perturbation", config.perturbation, 0, 1);
  return config;
}

std::vector<const Placement*> PointersTo(const std::vector<ScoredPlacement>& scored) {
  std::vector<const Placement*> all;
  for (const ScoredPlacement& one : scored) all.push_back(&one.placement);
  return all;
}

}  // namespace

HybridAgent::HybridAgent(const AgentContext& context, const Config& config)
    : ImprovementAgent("hybrid", context, config.start),
      context_(context),
      config_(CheckedHybrid(config)),
      proposer_(*context.problem, {}, "moves"),
      distributions_(
          *context.problem,
          {.cohesion = config.cohesion, .epsilon = config.epsilon, .align = config.align}),
      elites_(*context.problem,
              config.population,
              static_cast<int>(std::ceil(config.niche * NumChoices(*context.problem)))),
      scorer_(config.refinement == "network" ? MoveScorer::Read(config.policy) : nullptr) {
}

void HybridAgent::Begin(const std::vector<ScoredPlacement>& starts) {
  std::vector<ScoredPlacement> sorted = starts;
  std::ranges::stable_sort(sorted, {}, &ScoredPlacement::score);
  for (const ScoredPlacement& start : sorted) elites_.Insert({start});
  distributions_.Begin(PointersTo(sorted));
}

void HybridAgent::Adopted() {
  elites_.Insert({best()});
  stale_ = restarts_ = 0;
}

void HybridAgent::NoteElite(const Elite& elite) {
  current() = elite.at;
  if (Note(elite.at)) stale_ = restarts_ = 0;
}

std::vector<Placement> HybridAgent::Draw(int count) {
  int from_distributions = 0;
  if (config_.draws == "distribution") from_distributions = count;
  if (config_.draws == "both") from_distributions = (count + 1) / 2;
  std::vector<Placement> placements = distributions_.Draw(from_distributions, rng());
  MoveLists moves;
  while (static_cast<int>(placements.size()) < count) {
    const auto& members = elites_.members();
    placements.push_back(members[UniformInt(rng(), static_cast<int>(members.size()))].at.placement);
    moves.Clear();
    proposer_.Perturb(rng(), Share(), placements.back(), moves);
    moves.Apply(0, placements.back().device);
  }
  return placements;
}

Elite HybridAgent::DrawElite(Evaluator& evaluator) {
  const auto count = std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.samples);
  const std::vector<Placement> placements = Draw(static_cast<int>(count));
  std::vector<DeviceIndex> rows;
  for (const Placement& placement : placements) {
    rows.insert(rows.end(), placement.device.begin(), placement.device.end());
  }
  OutcomeTable table;
  const std::size_t num_groups = placements.front().device.size();
  evaluator.EvaluateRows({rows.data(), placements.size(), num_groups},
                         table.ScoreColumns(placements.size()));
  std::size_t best = table.IndexOfBest();
  bool is_new = !elites_.Has(table.score(best));
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (elites_.Has(table.score(i)) || (is_new && table.score(i) >= table.score(best))) continue;
    best = i;
    is_new = true;
  }
  Elite elite{{placements[best], table.score(best)}};
  NoteElite(elite);
  return elite;
}

void HybridAgent::Refine(Elite& elite, Evaluator& evaluator) {
  AgentContext context = context_;
  context.seed = rng()();
  RankedSearch search(context, {}, scorer_);
  search.Adopt(elite.at);
  CountedEvaluator counted(evaluator);
  while (counted.count() < config_.effort) search.Step(counted);
  elite.refined = search.best().score == elite.at.score;
  elite.at = search.best();
  NoteElite(elite);
}

double HybridAgent::Share() const {
  return config_.perturbation * std::exp2(restarts_);
}

void HybridAgent::Restart() {
  const Elite kept{best(), true};
  elites_.Clear();
  elites_.Insert(kept);
  stale_ = 0;
  ++restarts_;
  if (Share() < kFarthest) {
    distributions_.MakeNear(best().placement, 1 - Share());
  } else {
    distributions_.MakeUniform();
    restarts_ = 0;
  }
}

void HybridAgent::Improve(Evaluator& evaluator) {
  if (stale_ >= config_.patience) Restart();
  ++stale_;
  Elite elite;
  const bool any_unrefined = Refines() && elites_.TakeUnrefined(elite);
  if (!any_unrefined) elite = DrawElite(evaluator);
  if (Refines()) Refine(elite, evaluator);
  elites_.Insert(std::move(elite));
  distributions_.Learn(elites_.placements(), config_.step);
}

void HybridAgent::SaveSearch(StateWriter& writer) const {
  writer.Int(stale_);
  writer.Int(restarts_);
  elites_.Save(writer);
  distributions_.Save(writer);
}

void HybridAgent::LoadSearch(StateReader& reader) {
  stale_ = reader.Counter("a number of steps");
  restarts_ = reader.Counter("a number of restarts");
  elites_.Load(reader);
  distributions_.Load(reader);
}

}  // namespace emplace
