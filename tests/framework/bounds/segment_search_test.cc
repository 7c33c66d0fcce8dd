#include "framework/bounds/segment_search.h"

#include <memory>
#include <numeric>
#include <vector>

#include "tests/simulator/simulate.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

SegmentDelays BoundWholeGraph(const Problem& problem, std::int64_t nodes) {
  const DelayGraph graph(problem);
  std::vector<int> ops(graph.num_ops());
  std::iota(ops.begin(), ops.end(), 0);
  return BoundSegment(graph, DevicePairs(problem), ops, nodes);
}

// Three ops of 100 between a and b. A transfer takes 49 + 1.
std::shared_ptr<const Problem> ThreeBetween(Occupies occupies) {
  ProblemBuilder builder;
  const int d0 = builder.Device("d0"), d1 = builder.Device("d1");
  const int copy = builder.Channel("copy", 1, kGigabytePerSecond);
  const int back = builder.Channel("back", 1, kGigabytePerSecond);
  for (const int k : {copy, back}) builder.channel(k).occupies = occupies;
  builder.Route(d0, d1, {copy});
  builder.Route(d1, d0, {back});
  const int a = builder.Op("a", {10}, {}, 49);
  std::vector<int> between;
  for (const char* name : {"x", "y", "z"}) between.push_back(builder.Op(name, {100}, {a}, 49));
  builder.Op("b", {10}, between);
  return builder.Build();
}

TEST_CASE("transfers that occupy a device leave it less time") {
  // On one device 300. With one op away, 200 + 2 * 49 on the device of a and b. With two away, 200
  // + 3 * 49 on the other one.
  for (const Occupies occupies : {Occupies::kBoth, Occupies::kSource, Occupies::kDestination}) {
    const SegmentDelays bound = BoundWholeGraph(*ThreeBetween(occupies), 1000);
    CAPTURE(ToString(occupies));
    // One side only: 200 + 49.
    const Nanos least = occupies == Occupies::kBoth ? 298 : 249;
    CHECK(bound.delays[0] <= least + 2);
    CHECK(bound.delays[0] >= least - least / 50);
  }
}

TEST_CASE("a search without an end proves nothing that does not hold") {
  // On one device 300; with one away and back 2 * 50 + 100 and 200 beside it.
  const auto problem = ThreeBetween(Occupies::kNone);
  const SegmentDelays whole = BoundWholeGraph(*problem, 1000);
  CHECK(whole.effort > 0);
  CHECK(whole.delays[0] <= 200);
  CHECK(whole.delays[0] >= 196);
  CHECK(whole.delays[3] == whole.delays[0]);
  const SegmentDelays short_search = BoundWholeGraph(*problem, -4);  // of 5 groups
  CHECK(short_search.delays[0] >= 100);
  CHECK(short_search.delays[0] <= whole.delays[0]);
}

TEST_CASE("stopped, a search proves what it knew") {
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {10}, {}, 49);
  const int x = builder.Op("x", {70}, {a}, 49);
  builder.Op("b", {10}, {x});
  const auto problem = builder.Build();
  const DelayGraph graph(*problem);
  const std::vector<int> ops = {0, 1, 2};
  const SegmentDelays bound =
      BoundSegment(graph, DevicePairs(*problem), ops, 100, [] { return true; });
  CHECK(bound.delays == std::vector<Nanos>{70, 120, 120, 70});
}

}  // namespace
