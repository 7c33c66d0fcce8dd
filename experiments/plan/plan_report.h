#pragma once

#include <string>
#include <vector>

#include "experiments/plan/plan_search.h"

namespace emplace {

/// Returns "1f1b", "interleaved x 2".
std::string ScheduleText(Schedule schedule, int virtual_stages);

/// Returns the table of the best plans and of the usual ones, and a sentence that compares them.
std::string FormatPlanSearch(const PlanSearchResult& result,
                             const std::vector<PlanGraph>& graphs,
                             const PlanSearchOptions& options);
/// Returns which plans fit into memory.
std::string FormatPlanMemory(const PlanSearchResult& result, const std::vector<PlanGraph>& graphs);
/// Returns all figures as a JSON object, times in ns.
std::string FormatPlanSearchJson(const PlanSearchResult& result,
                                 const std::vector<PlanGraph>& graphs,
                                 const PlanSearchOptions& options);

}  // namespace emplace
