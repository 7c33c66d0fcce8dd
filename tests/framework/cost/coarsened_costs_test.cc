#include "framework/cost/coarsened_costs.h"

#include <vector>

#include <doctest/doctest.h>

#include "framework/graph/grouping.h"

using namespace emplace;

namespace {

// Three ops on two devices; op 1 may not run on device 1.
Costs ThreeOps() {
  return {.num_ops = 3,
          .num_devices = 2,
          .time = {10, 40, 30, kMaxNanos, 5, 60},
          .source = {CostSource::kMeasured,
                     CostSource::kMeasured,
                     CostSource::kRoofline,
                     CostSource::kRoofline,
                     CostSource::kDefault,
                     CostSource::kDefault},
          .uncertainty = {0.1f, 0.1f, 0.5f, 0.5f, 0.3f, 0.2f}};
}

TEST_CASE("what an op costs on its best device") {
  CHECK(BestDeviceCosts(ThreeOps()) == std::vector<double>{10, 30, 5});
  Costs nowhere{.num_ops = 1, .num_devices = 1, .time = {kMaxNanos}};
  CHECK(BestDeviceCosts(nowhere) == std::vector<double>{0});
}

TEST_CASE("costs of groups, by hand") {
  const Costs sums = ContractCosts(ThreeOps(), Grouping(std::vector<int>{0, 1, 0}));
  CHECK(sums.num_ops == 2);
  CHECK(sums.num_devices == 2);
  // Group 0 is ops 0 and 2: 10 + 5 and 40 + 60; group 1 is op 1.
  CHECK(sums.time == std::vector<Nanos>{15, 100, 30, kMaxNanos});
  CHECK(sums.source[0] == CostSource::kMeasured);  // 10 is more than 5
  CHECK(sums.source[1] == CostSource::kDefault);   // 60 is more than 40
  CHECK(sums.source[2] == CostSource::kRoofline);
  CHECK(sums.uncertainty[0] == doctest::Approx((10 * 0.1 + 5 * 0.3) / 15));
  CHECK(sums.uncertainty[1] == doctest::Approx((40 * 0.1 + 60 * 0.2) / 100));
  CHECK(sums.interference.empty());
  // A group with a member that may not run on a device may not run there either.
  const Costs one = ContractCosts(ThreeOps(), Grouping(std::vector<int>{0, 0, 0}));
  CHECK(one.time == std::vector<Nanos>{45, kMaxNanos});
}

TEST_CASE("interference of groups: means weighted by time, to the nearest") {
  Costs costs = ThreeOps();
  costs.interference = {{100, 7}, {}, {}, {}, {1000, 0}, {50, 0}};
  const Costs sums = ContractCosts(costs, Grouping(std::vector<int>{0, 1, 0}));
  // (10 * 100 + 5 * 1000) / 15 = 400; 10 * 7 / 15 = 4.67; (40 * 0 + 60 * 50) / 100 = 30.
  CHECK(sums.interference == std::vector<Interference>{{400, 5}, {30, 0}, {}, {}});
}

}  // namespace
