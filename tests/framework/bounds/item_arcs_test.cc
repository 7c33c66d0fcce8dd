#include "framework/bounds/item_arcs.h"

#include <doctest/doctest.h>

#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("an item is cut once, at its least time") {
  ProblemBuilder b = Gpus(3, 0);
  const int fast = b.Channel("fast", 0, {2'000'000'000, 1});
  b.Route(0, 1, {fast});
  b.Op("a", {1}, {}, 8);
  b.Op("b", {1}, {0});
  b.Op("c", {1}, {0}, 3);  // nobody reads its output
  const auto problem = b.Build();
  const CompiledPeriod compiled(*problem);
  FlowNetwork network(3);
  const std::vector<ItemArc> items = AddItems(compiled, network);
  REQUIRE(items.size() == 1);
  CHECK(items[0].time == 4);  // 8 bytes at 2 bytes a nanosecond; all other routes take 8
  // a is apart from b and c.
  const int source = network.AddNode(), sink = network.AddNode();
  network.AddArc(source, 0, 100);
  network.AddArc(1, sink, 100);
  network.AddArc(2, sink, 100);
  CHECK(network.Flow(source, sink) == 4);
  CHECK(network.IsInside(0));
  CHECK_FALSE(network.IsInside(1));
}

}  // namespace
