#pragma once

#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// Searches the plans of graphs of one or several numbers of ranks (framework/plan/ranks.h):
/// SearchPlans() for the graphs of each number in turn, with equal shares of the time. The result
/// has the best plans of all, the least bound, and the usual plans of each number, with ", N ranks"
/// behind their names if there are several numbers.
/// @throws InputError as SearchPlans()
PlanSearchResult SearchPlansOfRanks(const std::vector<PlanGraph>& graphs,
                                    const PlanSearchOptions& options);

/// Returns the ranks of a graph as the tensor parallel size of a framework.
/// @throws InputError naming the framework, if ranks gather their parameters (fully_shard)
int TensorParallelSize(const std::string& framework, const Graph& step);

}  // namespace emplace
