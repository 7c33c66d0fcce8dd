#pragma once

#include <memory>
#include <string>

#include "framework/cost/cost_model.h"
#include "framework/search/problem.h"

namespace emplace {

/// A graph on a cluster with the costs of its ops, which is a problem without its groups. Code that
/// searches, simulates, or weighs ops by their costs begins with one.
struct CostedProblem {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Cluster> cluster;
  Costs costs;

  /// @param where  prefix of error messages about the graph and the costs
  /// @throws InputError as ComputeCosts() does
  CostedProblem(std::shared_ptr<const Graph> graph,
                std::shared_ptr<const Cluster> cluster,
                const std::string& where,
                const CostInputs& sources = {});

  /// Returns the problem with these groups. Moves the costs into it.
  /// @throws InputError as Problem does
  std::shared_ptr<const Problem> WithGroups(Grouping grouping,
                                            Objective objective = Objective::kStepTime,
                                            ProblemChecks checks = ProblemChecks::kAll) &&;
};

}  // namespace emplace
