#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/problem/coarsening_passes.h"
#include "framework/cost/cost_table.h"
#include "framework/plan/plan.h"
#include "framework/plan/planned_graph.h"

namespace emplace {

/// The graph and the cluster of a run, and the passes that coarsen the graph.
struct RunInputs {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  std::vector<CoarseningPass> passes;
  std::vector<PlannedOp> origin;  ///< [num_ops] of a planned graph; empty without a plan
};

/// Applies the plan of a run (FirstRank(), ApplyPlan()) unless it changes nothing
/// (Plan::IsIdentity(), a graph of one rank). The passes coarsen the graph of the step. The planned
/// graph then needs colocation alone, because all copies of a group have its label.
/// @param where  names the run in messages about costs
/// @param table  measured costs, or nullptr
/// @throws InputError as ComputeCosts(), ApplyPasses(), ApplyPlan() and FirstRank()
RunInputs WithPlan(RunInputs step,
                   const Plan& plan,
                   const std::string& where,
                   const CostTable* table);

}  // namespace emplace
