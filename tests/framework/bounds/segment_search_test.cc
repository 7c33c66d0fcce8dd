#include "framework/bounds/segment_search.h"

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

TEST_CASE("a search without an end proves nothing that does not hold") {
  // Three ops of 100 between a and b: on one device 300; with one away and back 2 * 50 + 100 and
  // 200 beside it.
  ProblemBuilder builder = Gpus(2);
  const int a = builder.Op("a", {10}, {}, 49);
  std::vector<int> between;
  for (const char* name : {"x", "y", "z"}) between.push_back(builder.Op(name, {100}, {a}, 49));
  builder.Op("b", {10}, between);
  const auto problem = builder.Build();
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
