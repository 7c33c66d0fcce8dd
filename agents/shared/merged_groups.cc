#include "agents/shared/merged_groups.h"

#include "agents/shared/devices.h"
#include "framework/graph/coarsen.h"

namespace emplace {

std::vector<int> MergedGroups(const Problem& problem, int num_parts) {
  const Grouping& groups = problem.grouping();
  const std::vector<double> cost = MeanCosts(problem);
  std::vector<double> weight(problem.graph().num_ops(), 0);
  for (int group = 0; group < problem.num_groups(); ++group) {
    weight[groups.members(group).front()] = cost[group];
  }
  const Grouping parts = MergeCheapest(problem.graph(), groups, weight, num_parts);
  std::vector<int> part(problem.num_groups());
  for (int group = 0; group < problem.num_groups(); ++group) {
    part[group] = parts.group_of(groups.members(group).front()) % num_parts;
  }
  return part;
}

}  // namespace emplace
