#include "agents/shared/constructive_agent.h"

#include "framework/base/error.h"
#include "framework/search/state.h"

namespace emplace {

ConstructiveAgent::ConstructiveAgent(std::string name, const AgentContext& context)
    : name_(std::move(name)), problem_(context.problem), interrupt_(context.end_construction) {
}

void ConstructiveAgent::Step(Evaluator& evaluator) {
  if (finished_) return;
  const std::vector<Placement> placements = Construct();
  EMPLACE_CHECK(!placements.empty());
  evaluator.Evaluate(placements);
  finished_ = true;
}

void ConstructiveAgent::VisitState(StateVisitor& v) {
  v.Begin(name_, *problem_);
  v.Flag(finished_);
}

}  // namespace emplace
