#include "framework/bounds/work_bound.h"

#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("work of jobs: split where it helps, prices of all slots sum to 1") {
  ProblemBuilder b;
  b.Device("d0", kUnlimitedMemory, 2);
  b.Device("d1");
  b.AllToAll(0, kGigabytePerSecond);
  // The first on d0 alone: 12 on two slots. The second x there: (12 + 12 x) / 2 = 12 (1 - x), so
  // x = 1/3 and T = 8.
  const std::vector<Nanos> costs{12, kMaxNanos, 12, 12};
  const WorkBound bound = BoundWork(*b.BuildCluster(), costs);
  CHECK(bound.time == 8);
  REQUIRE(bound.price.size() == 2);
  CHECK(2 * bound.price[0] + bound.price[1] == doctest::Approx(1));
  CHECK(BoundWork(*b.BuildCluster(), std::vector<Nanos>{}).time == 0);
}

TEST_CASE("work of jobs: of devices of one kind the cheaper one counts") {
  const Cluster cluster(
      "two", {DeviceKind{.name = "k"}}, {{"a", 0}, {"b", 0}}, {}, {{}, {}, {}, {}});
  CHECK(BoundWork(cluster, std::vector<Nanos>{10, 6}).time == 3);
}

}  // namespace
