#include "profilers/cuda/split_plan.h"

#include <numeric>

#include "framework/base/error.h"

namespace emplace::cuda {

std::vector<SplitPlan> PlanSplits(std::span<const int> sizes, int minimum) {
  EMPLACE_CHECK(!sizes.empty() && minimum > 0);
  int common = 0;
  for (int size : sizes) {
    EMPLACE_CHECK(size > 0);
    common = std::gcd(common, size);
  }
  std::vector<SplitPlan> plans;
  for (int group_size = common; group_size >= minimum; --group_size) {
    if (common % group_size != 0) continue;
    SplitPlan plan;
    plan.group_size = group_size;
    for (int size : sizes) {
      std::vector<int>& groups = plan.groups.emplace_back(size / group_size);
      std::iota(groups.begin(), groups.end(), plan.num_groups);
      plan.num_groups += size / group_size;
    }
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace emplace::cuda
