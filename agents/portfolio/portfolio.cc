#include "agents/portfolio/portfolio.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "agents/genetic/genetic.h"
#include "agents/improvement/counted_evaluator.h"
#include "agents/large_neighborhood/large_neighborhood.h"
#include "agents/multilevel/multilevel.h"
#include "agents/tabu/tabu.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr double kLeastShare = 0.1, kLearning = 0.5;

}  // namespace

PortfolioAgent::PortfolioAgent(const AgentContext& context, const Config& config)
    : ImprovementAgent("portfolio", context, config.start), context_(context), config_(config) {
  RequireRange("turn", static_cast<double>(config.turn), 1, 1e12);
}

template <class A>
void PortfolioAgent::Add(std::uint64_t seed) {
  AgentContext context = context_;
  context.seed = seed;
  typename A::Config settings;
  settings.start = config_.start;
  members_.push_back({std::make_unique<A>(context, settings)});
}

void PortfolioAgent::MakeMembers(const std::function<std::uint64_t()>& draw_seed) {
  members_.clear();
  Add<MultilevelAgent>(draw_seed());
  Add<LargeNeighborhoodAgent>(draw_seed());
  Add<TabuAgent>(draw_seed());
  Add<GeneticAgent>(draw_seed());
}

void PortfolioAgent::Begin(const std::vector<ScoredPlacement>&) {
  MakeMembers([&] { return rng()(); });
}

std::size_t PortfolioAgent::DrawTurn() {
  double largest = 0, sum = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].tried) return i;
    largest = std::max(largest, members_[i].rate);
  }
  const auto share = [&](const Member& member) {
    return kLeastShare + (largest > 0 ? member.rate / largest : 0);
  };
  for (const Member& member : members_) sum += share(member);
  double drawn = Uniform01(rng()) * sum;
  std::size_t turn = 0;
  while (turn + 1 < members_.size() && drawn >= share(members_[turn])) {
    drawn -= share(members_[turn++]);
  }
  return turn;
}

void PortfolioAgent::Improve(Evaluator& evaluator) {
  Member& member = members_[DrawTurn()];
  const Score before = best().score;
  member.agent->Adopt(best());
  CountedEvaluator counted(evaluator);
  while (counted.count() < config_.turn) member.agent->Step(counted);
  current() = member.agent->best();
  Note(current());
  const Score after = best().score;
  const double gain = after.deficit < before.deficit
                          ? 1
                          : std::log(static_cast<double>(std::max<Nanos>(before.step_time, 1)) /
                                     static_cast<double>(std::max<Nanos>(after.step_time, 1)));
  member.rate += kLearning * (gain / static_cast<double>(counted.count()) - member.rate);
  member.tried = true;
}

void PortfolioAgent::SaveSearch(StateWriter& writer) const {
  for (const Member& member : members_) {
    std::ostringstream state;
    member.agent->Save(state);
    writer.Text(state.str());
    writer.Double(member.rate);
    writer.Int(member.tried);
  }
}

void PortfolioAgent::LoadSearch(StateReader& reader) {
  MakeMembers([] { return 0; });  // their generators are loaded
  for (Member& member : members_) {
    std::istringstream state(reader.Text("the state of a search"));
    member.agent->Load(state);
    member.rate = reader.Double("a rate");
    member.tried = reader.Flag();
  }
}

}  // namespace emplace
