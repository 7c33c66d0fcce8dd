#include "agents/portfolio/portfolio.h"

#include <algorithm>
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

constexpr double kLeastTurnWeight = 0.1, kForgetting = 0.2;

}  // namespace

template <class A>
void PortfolioAgent::Add(AgentContext context) {
  context.seed = rng()();
  typename A::Config settings;
  settings.start = config_.start;
  members_.push_back({std::make_unique<A>(context, settings)});
}

PortfolioAgent::PortfolioAgent(const AgentContext& context, const Config& config)
    : ImprovementAgent("portfolio", context, config.start), config_(config) {
  RequireRange("turn", static_cast<double>(config.turn), 1, 1e12);
  Add<LargeNeighborhoodAgent>(context);
  Add<MultilevelAgent>(context);
  Add<GeneticAgent>(context);
  Add<TabuAgent>(context);
}

void PortfolioAgent::Improve(Evaluator& evaluator) {
  double sum = 0;
  for (const Member& member : members_) sum += member.weight;
  double drawn = Uniform01(rng()) * sum;
  std::size_t turn = 0;
  while (turn + 1 < members_.size() && drawn >= members_[turn].weight) {
    drawn -= members_[turn++].weight;
  }
  Member& member = members_[turn];
  member.agent->Adopt(best());
  CountedEvaluator counted(evaluator);
  while (counted.count() < config_.turn) member.agent->Step(counted);
  current() = member.agent->best();
  const bool better = Note(current());
  member.weight =
      std::max(kLeastTurnWeight, (1 - kForgetting) * member.weight + kForgetting * better);
}

void PortfolioAgent::SaveSearch(StateWriter& writer) const {
  for (const Member& member : members_) {
    std::ostringstream state;
    member.agent->Save(state);
    writer.Text(state.str());
    writer.Double(member.weight);
  }
}

void PortfolioAgent::LoadSearch(StateReader& reader) {
  for (Member& member : members_) {
    std::istringstream state(reader.Text("the state of a search"));
    member.agent->Load(state);
    member.weight = reader.Double("a weight");
  }
}

}  // namespace emplace
