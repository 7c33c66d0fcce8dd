#include "agents/simulated_annealing/simulated_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "agents/initial_placements/initial_placements.h"
#include "framework/search/state.h"

namespace emplace {
namespace {

constexpr double kDefaultTemperature = 0.01;

}  // namespace

AnnealingAgent::AnnealingAgent(const AgentContext& context, const Config& config)
    : problem_(context.problem),
      interrupt_(context.end_construction),
      config_(config),
      proposer_(*problem_, config.moves, "moves"),
      rng_(context.seed) {
  ValidateStarts(*problem_, "start", config.start);
  for (const Device& device : problem_->cluster().devices()) {
    if (device.memory != kUnlimitedMemory) memory_ += static_cast<double>(device.memory);
  }
  memory_ = std::max(memory_, 1.0);
}

double AnnealingAgent::Energy(const Score& score) const {
  const double energy = std::log(static_cast<double>(std::max<Nanos>(score.step_time, 1)));
  if (score.deficit == 0) return energy;
  return energy + config_.deficit_penalty * (1 + static_cast<double>(score.deficit) / memory_);
}

std::int64_t AnnealingAgent::CycleAt(std::int64_t used) const {
  return static_cast<std::int64_t>(static_cast<double>(used) / static_cast<double>(planned_) *
                                   (config_.reheats + 1));
}

double AnnealingAgent::Temperature(std::int64_t used) const {
  const double cycles =
      static_cast<double>(used) / static_cast<double>(planned_) * (config_.reheats + 1);
  const double cycle = std::floor(cycles);
  return initial_ * std::pow(config_.reheat, std::min<double>(cycle, config_.reheats)) *
         std::pow(config_.final_ratio, cycles - cycle);
}

void AnnealingAgent::Note(const Placement& base, std::size_t i) {
  const Score score = scores_.score(i);
  if (score >= best_score_) return;
  best_score_ = score;
  best_.placement = base;
  moves_.Apply(i, best_.placement.device);
  best_.energy = Energy(score);
}

void AnnealingAgent::Begin(Evaluator& evaluator) {
  planned_ = evaluator.remaining() == std::numeric_limits<std::int64_t>::max()
                 ? config_.evaluations
                 : std::max<std::int64_t>(1, evaluator.remaining());
  const std::vector<Placement> starts = MakeStarts(*problem_, config_.start, rng_, interrupt_);
  const std::vector<Score> scores = evaluator.Scores(starts);
  const std::size_t best = IndexOfBest(scores);
  best_score_ = scores[best];
  best_ = {starts[best], Energy(best_score_)};
  used_ = static_cast<std::int64_t>(starts.size());
  initial_ = kDefaultTemperature;
  if (proposer_.any()) {
    const State start = best_;
    moves_.Clear();
    for (int i = 0; i < config_.samples; ++i) proposer_.Propose(rng_, start.placement, moves_);
    evaluator.EvaluateNeighbors(moves_.Of(start.placement), scores_.ScoreColumns(moves_.size()));
    used_ += config_.samples;
    std::vector<double> worse;
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      const double energy = Energy(scores_.score(i));
      if (energy > start.energy) worse.push_back(energy - start.energy);
      Note(start.placement, i);
    }
    if (!worse.empty()) {
      const auto median = worse.begin() + static_cast<std::ptrdiff_t>(worse.size() / 2);
      std::nth_element(worse.begin(), median, worse.end());
      initial_ = *median / std::log(1 / config_.initial_acceptance);
    }
  }
  chains_.assign(config_.chains, best_);
  cycle_ = CycleAt(used_);
  started_ = true;
}

void AnnealingAgent::EvaluateMoves(Evaluator& evaluator) {
  const std::size_t count = moves_.size();
  const OutcomeColumns columns = scores_.ScoreColumns(count);
  if (count == 1) {
    evaluator.EvaluateNeighbors(moves_.Of(chains_[0].placement), columns);
    return;
  }
  const std::size_t num_groups = problem_->num_groups();
  rows_.resize(count * num_groups);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span row(rows_.data() + i * num_groups, num_groups);
    std::ranges::copy(chains_[i].placement.device, row.begin());
    moves_.Apply(i, row);
  }
  evaluator.EvaluateRows({rows_.data(), count, num_groups}, columns);
}

void AnnealingAgent::Round(Evaluator& evaluator) {
  if (const std::int64_t cycle = CycleAt(used_); cycle != cycle_) {
    cycle_ = cycle;
    chains_.assign(config_.chains, best_);
  }
  const double temperature = Temperature(used_);
  const auto count =
      static_cast<std::size_t>(std::clamp<std::int64_t>(evaluator.remaining(), 1, config_.chains));
  moves_.Clear();
  for (std::size_t i = 0; i < count; ++i) proposer_.Propose(rng_, chains_[i].placement, moves_);
  EvaluateMoves(evaluator);
  for (std::size_t i = 0; i < count; ++i) {
    Note(chains_[i].placement, i);
    const double energy = Energy(scores_.score(i));
    const double drawn = Uniform01(rng_);
    if (drawn < std::exp((chains_[i].energy - energy) / temperature)) {
      moves_.Apply(i, chains_[i].placement.device);
      chains_[i].energy = energy;
    }
  }
  used_ += static_cast<std::int64_t>(count);
}

void AnnealingAgent::Step(Evaluator& evaluator) {
  if (!started_) {
    Begin(evaluator);
  } else if (proposer_.any()) {
    for (int round = 0; round < config_.rounds; ++round) Round(evaluator);
  }
}

void AnnealingAgent::VisitState(StateVisitor& v) {
  v.Begin("simulated_annealing", *problem_);
  v.Generator(rng_);
  v.Flag(started_);
  if (!started_) return;
  v.Double("a temperature", initial_);
  v.Count("a number of evaluations", planned_);
  v.Count("a number of evaluations", used_);
  v.Int("a cycle", cycle_);
  const auto visit = [&v](State& state) {
    v.Devices(state.placement);
    v.Double("an energy", state.energy);
  };
  visit(best_);
  v.Score(best_score_);
  chains_.resize(config_.chains);
  for (State& chain : chains_) visit(chain);
}

}  // namespace emplace
