#include "agents/portfolio/portfolio.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "agents/genetic/genetic.h"
#include "agents/hill_climb/hill_climb.h"
#include "agents/large_neighborhood/large_neighborhood.h"
#include "agents/multilevel/multilevel.h"
#include "agents/period_multilevel/period_multilevel.h"
#include "agents/shared/local_search/islands.h"
#include "agents/tabu/tabu.h"

namespace emplace {
namespace {

constexpr double kLeastShare = 0.1, kLearning = 0.5, kLeastLength = 0.125;
constexpr int kPatience = 16;  // turns
constexpr std::int64_t kLargeGraph = 10'000, kLeastTurn = 128, kPeriodTurns = 16;

// Returns ln(before / after); 1 if less memory is missing, 0 if nothing is better.
double Gain(const Score& before, const Score& after) {
  if (after >= before) return 0;
  if (after.deficit < before.deficit) return 1;
  return std::log(static_cast<double>(std::max<Nanos>(before.step_time, 1)) /
                  static_cast<double>(std::max<Nanos>(after.step_time, 1)));
}

}  // namespace

PortfolioAgent::PortfolioAgent(const AgentContext& context, const Config& config)
    : LocalSearchAgent("portfolio", context, config.start), context_(context), config_(config) {
  const std::int64_t ops = context.problem->num_ops();
  is_period_ = context.problem->objective() == Objective::kPeriod;
  is_large_ = !is_period_ && ops > kLargeGraph;
  concurrent_ = is_large_ ? 2 : config.concurrent;
  num_multilevel_ = concurrent_ / 2;
  longest_turn_ = config.turn;
  if (is_period_) longest_turn_ *= kPeriodTurns;
  if (is_large_) {
    longest_turn_ = std::min(config.turn, std::max(kLeastTurn, config.turn * kLargeGraph / ops));
  }
  turn_ = std::min(kLeastTurn, longest_turn_);
}

template <class A>
PortfolioAgent::Member PortfolioAgent::Make(std::uint64_t seed, typename A::Config settings) const {
  AgentContext context = context_;
  context.seed = seed;
  if constexpr (requires { settings.start; }) settings.start = config_.start;
  return {std::make_unique<A>(context, settings)};
}

PortfolioAgent::Member PortfolioAgent::MakeMultilevel(std::uint64_t seed) const {
  return is_period_ ? Make<PeriodMultilevelAgent>(seed) : Make<MultilevelAgent>(seed);
}

void PortfolioAgent::MakeMembers(const std::function<std::uint64_t()>& draw_seed) {
  members_.clear();
  for (int i = 0; i < num_multilevel_; ++i) members_.push_back(MakeMultilevel(draw_seed()));
  members_.push_back(Make<TabuAgent>(draw_seed()));
  members_.push_back(Make<LargeNeighborhoodAgent>(draw_seed()));
  members_.push_back(Make<GeneticAgent>(draw_seed()));
  members_.push_back(Make<HillClimbAgent>(draw_seed(), {.batch = 32}));
}

void PortfolioAgent::Begin(const std::vector<ScoredPlacement>&) {
  MakeMembers([&] { return rng()(); });
}

std::vector<std::size_t> PortfolioAgent::DrawTurn() {
  std::vector<std::size_t> turn(num_multilevel_);
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  double largest = 0;
  for (const Member& member : members_) largest = std::max(largest, member.rate);
  std::vector<double> share(members_.size());
  for (std::size_t i = turn.size(); i < members_.size(); ++i) {
    share[i] = kLeastShare + (largest > 0 ? members_[i].rate / largest : 0);
  }
  const std::size_t wanted = std::min<std::size_t>(concurrent_, members_.size());
  for (std::size_t i = turn.size(); i < members_.size() && turn.size() < wanted; ++i) {
    if (members_[i].tried) continue;
    turn.push_back(i);
    share[i] = 0;
  }
  while (turn.size() < wanted) {
    double drawn = Uniform01(rng()) * std::accumulate(share.begin(), share.end(), 0.0);
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < members_.size() && (chosen == 0 || drawn >= 0); ++i) {
      if (share[i] == 0) continue;
      chosen = i;
      drawn -= share[i];
    }
    turn.push_back(chosen);
    share[chosen] = 0;
  }
  return turn;
}

void PortfolioAgent::Improve(Evaluator& evaluator) {
  const std::vector<std::size_t> turn = DrawTurn();
  double largest = 0;
  for (const std::size_t m : turn) largest = std::max(largest, members_[m].rate);
  std::vector<Turn> turns(turn.size());
  std::vector<ConcurrentSearch> searches;
  const auto makes_one_step = [this](std::size_t member) {
    return is_period_ && member < static_cast<std::size_t>(num_multilevel_);
  };
  for (std::size_t i = 0; i < turn.size(); ++i) {
    Member& member = members_[turn[i]];
    if (member.stale) member.agent->Adopt(best());
    const double share =
        member.tried && largest > 0 ? std::max(kLeastLength, member.rate / largest) : 1;
    const std::int64_t enough =
        makes_one_step(turn[i]) ? 1 : static_cast<std::int64_t>(share * static_cast<double>(turn_));
    searches.push_back(MakeTurn(*member.agent, enough, turns[i]));
  }
  if (is_large_) {
    for (const ConcurrentSearch& search : searches) search.run(evaluator);
  } else {
    evaluator.RunConcurrently(searches);
  }
  const Score before = best().score;
  ++stale_turns_;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    Member& member = members_[turn[i]];
    const ScoredPlacement& found = member.agent->best();
    const std::int64_t evaluations = makes_one_step(turn[i]) ? turn_ : turns[i].evaluations;
    const double rate = Gain(before, found.score) / static_cast<double>(evaluations);
    member.stale = turns[i].stale;
    member.rate += kLearning * (rate - member.rate);
    member.tried = true;
    if (Note(found)) stale_turns_ = 0;
  }
  current() = best();
  turn_ = std::min(2 * turn_, longest_turn_);
  if (stale_turns_ >= kPatience) {
    members_[next_anew_] = MakeMultilevel(rng()());
    members_[next_anew_].stale = false;  // lets it search its own basin first
    next_anew_ = (next_anew_ + 1) % num_multilevel_;
    stale_turns_ = 0;
  }
}

void PortfolioAgent::VisitSearch(StateVisitor& v) {
  if (v.reading()) MakeMembers([] { return 0; });  // their generators are read below
  v.Count("evaluations of a turn", turn_);
  turn_ = std::max<std::int64_t>(1, turn_);
  v.Count("a number of turns", stale_turns_);
  v.Int("a multilevel search", next_anew_, 0, num_multilevel_ - 1);
  for (Member& member : members_) {
    v.Nested("the state of the search", *member.agent);
    v.Double("a rate", member.rate);
    v.Flag(member.tried);
    v.Flag(member.stale);
  }
}

}  // namespace emplace
