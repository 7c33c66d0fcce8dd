#include "framework/search/costed_problem.h"

#include <utility>

namespace emplace {

CostedProblem::CostedProblem(std::shared_ptr<const Graph> of_graph,
                             std::shared_ptr<const Cluster> on_cluster,
                             const std::string& where,
                             const CostInputs& sources)
    : graph(std::move(of_graph)),
      cluster(std::move(on_cluster)),
      costs(ComputeCosts(*graph, *cluster, where, sources)) {
}

std::shared_ptr<const Problem> CostedProblem::WithGroups(Grouping grouping,
                                                         Objective objective,
                                                         ProblemChecks checks) && {
  return std::make_shared<const Problem>(std::move(graph),
                                         std::move(grouping),
                                         std::move(cluster),
                                         std::move(costs),
                                         objective,
                                         checks);
}

}  // namespace emplace
