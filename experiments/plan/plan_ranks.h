#pragma once

#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// Searches the plans of graphs of one or several numbers of ranks (framework/plan/ranks.h):
/// SearchPlans() for the graphs of each number in turn, with equal shares of the time. Graphs that
/// gather parameters, and further graphs of equal numbers and sizes, are in searches of their own.
/// The result has the best plans of all, the least bound, and the usual plans of each search, with
/// the name of its first graph behind theirs if there are several searches.
/// @throws InputError as SearchPlans()
PlanSearchResult SearchPlansOfRanks(const std::vector<PlanGraph>& graphs,
                                    const PlanSearchOptions& options);

/// Returns the ranks of a graph as the tensor parallel size of a framework.
/// @throws InputError naming the framework, if ranks gather their parameters (fully_shard)
int TensorParallelSize(const std::string& framework, const Graph& step);

}  // namespace emplace
