#include "experiments/problem/planned_step.h"

#include <utility>

#include "framework/cost/cost_model.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/ranks.h"

namespace emplace {

RunInputs WithPlan(RunInputs step,
                   const Plan& plan,
                   const std::string& where,
                   const CostTable* table) {
  if (plan.IsIdentity() && step.graph->ranks() == 1) return step;
  RankStep rank = FirstRank(std::move(step.graph), std::move(step.cluster));
  step.graph = std::move(rank.step);
  step.cluster = std::move(rank.cluster);
  const Costs costs = ComputeCosts(*step.graph, *step.cluster, where, {.table = table});
  const Grouping together = ApplyPasses(*step.graph, step.passes, BestDeviceCosts(costs));
  PlannedStep planned = ApplyPlan(*step.graph, *step.cluster, plan, together);
  return {std::make_shared<const Graph>(std::move(planned.planned.graph)),
          std::move(planned.cluster),
          ParsePasses(ConfigNode::FromString("[colocate]", where)),
          std::move(planned.planned.ops)};
}

}  // namespace emplace
