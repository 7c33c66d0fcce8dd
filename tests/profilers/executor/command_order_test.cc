#include "profilers/executor/command_order.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;
using Lists = std::vector<std::vector<int>>;

TEST_CASE("hazards: a reader awaits the last writer, a writer also the readers since") {
  // Buffer 0: written by 0, read by 1 and 2, written by 3, read by 4. Buffer 1: read and written by
  // 2, read by 4.
  const std::vector<std::vector<BufferAccess>> accesses = {
      {{0, true}}, {{0, false}}, {{0, false}, {1, true}}, {{0, true}}, {{0, false}, {1, false}}};
  CHECK(FindHazards(accesses, 2) == Lists{{}, {0}, {0}, {0, 1, 2}, {3, 2}});
}

TEST_CASE("a wait that others imply is left out") {
  // Streams: 0 runs commands 0 and 3, 1 runs 1, 2 runs 2 and 4.
  const std::vector<int> streams{0, 1, 2, 0, 2};
  const Lists dependencies{{}, {0}, {0, 1}, {2}, {0, 1, 3}};
  const CommandOrder order = OrderCommands(streams, 3, dependencies, Lists(5));
  // 2 awaits 1, which is behind 0. 4 is behind 2 and with it behind 1; it awaits 3.
  CHECK(order.waits == Lists{{}, {0}, {1}, {2}, {3}});
  CHECK(order.position == std::vector<int>{0, 0, 0, 1, 1});
  CHECK(order.done[2] == StreamClock{1, 1, 1});
  CHECK(order.done[4] == StreamClock{2, 1, 2});
  CHECK(order.hazard_waits == 0);
}

TEST_CASE("waits are counted for the first reason that asks for them") {
  const std::vector<int> streams{0, 1, 0, 1};
  const Lists dependencies{{}, {}, {1}, {}};
  const Lists hazards{{}, {}, {1}, {0}};
  const CommandOrder order = OrderCommands(streams, 2, dependencies, hazards);
  CHECK(order.waits == Lists{{}, {}, {1}, {0}});
  CHECK(order.hazard_waits == 1);  // 3 for 0; that 2 awaits 1 is a dependency already
}

}  // namespace
