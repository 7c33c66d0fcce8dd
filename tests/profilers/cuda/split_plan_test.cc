#include "profilers/cuda/split_plan.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("equal partitions are the groups of a split") {
  // 32 = 1 x 32 = 2 x 16 = 4 x 8
  const std::vector<int> sizes = {32, 32};
  const auto plans = cuda::PlanSplits(sizes, 8);
  REQUIRE(plans.size() == 3);
  CHECK(plans[0].group_size == 32);
  CHECK(plans[0].num_groups == 2);
  CHECK(plans[0].groups == std::vector<std::vector<int>>{{0}, {1}});
  CHECK(plans[2].group_size == 8);
  CHECK(plans[2].groups == std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("unequal partitions are put together from groups of their common size") {
  const std::vector<int> sizes = {64, 32, 24};
  const auto plans = cuda::PlanSplits(sizes, 8);
  REQUIRE(plans.size() == 1);  // the greatest common divisor is 8
  CHECK(plans[0].num_groups == 15);
  CHECK(plans[0].groups[1] == std::vector<int>{8, 9, 10, 11});
  CHECK(plans[0].groups[2] == std::vector<int>{12, 13, 14});
}

TEST_CASE("every plan gives each partition its SMs, and each group to one partition") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int minimum = 1 << random() % 4;
    std::vector<int> sizes(1 + random() % 6);
    for (int& size : sizes) size = minimum * static_cast<int>(1 + random() % 8);
    const auto plans = cuda::PlanSplits(sizes, minimum);
    REQUIRE(!plans.empty());
    CHECK(plans.back().group_size == minimum);
    int last_size = 1 << 20;
    for (const auto& plan : plans) {
      CHECK(plan.group_size < last_size);
      last_size = plan.group_size;
      std::vector<int> uses(plan.num_groups, 0);
      for (size_t p = 0; p < sizes.size(); ++p) {
        CHECK(static_cast<int>(plan.groups[p].size()) * plan.group_size == sizes[p]);
        for (int group : plan.groups[p]) ++uses[group];
      }
      CHECK(std::all_of(uses.begin(), uses.end(), [](int count) { return count == 1; }));
    }
  }
}

}  // namespace
