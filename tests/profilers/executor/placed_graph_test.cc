#include "profilers/executor/placed_graph.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("received copies are tensors of their own, and views are views of them") {
  // x on d0; view of x and its reader on d1; another reader of x on d0.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  const int x = builder.Op("x", {1}, {}, 8);
  const int view = builder.Op("view", {1}, {x}, 8);
  const int reader = builder.Op("reader", {1}, {view}, 8);
  const int other = builder.Op("other", {1}, {x}, 8);
  builder.output(view).alias_of = builder.op(x).outputs[0];
  builder.AllToAll(1, kGigabytePerSecond);
  const auto problem = builder.Build();
  const std::vector<DeviceIndex> devices{0, 1, 1, 0};
  const IssuedCommands issued = IssueCommands(*problem, devices, IssueOrder(problem->graph()));
  const PlacedGraph placed = PlaceGraph(*problem, devices, issued.copies);

  const int x_out = problem->graph().op(x).outputs[0],
            view_out = problem->graph().op(view).outputs[0];
  REQUIRE(placed.received.size() == 1);
  const int received = placed.received.at({x_out, 1});
  CHECK(received == problem->graph().num_tensors());
  CHECK(placed.graph.num_tensors() == received + 1);
  CHECK(placed.graph.tensor(received).producer == -1);
  CHECK(placed.graph.tensor(received).bytes == 8);
  CHECK(placed.graph.op(view).inputs == std::vector<int>{received});
  CHECK(placed.graph.tensor(view_out).alias_of == received);
  CHECK(placed.graph.op(reader).inputs == std::vector<int>{view_out});
  CHECK(placed.graph.op(other).inputs == std::vector<int>{x_out});
}

TEST_CASE("in a placed graph every op finds and leaves its tensors on its own device") {
  Rng rng(31);
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const auto problem =
        RandomProblem(rng, {.num_ops = 30, .num_devices = 4, .slots = false, .host_costs = false});
    const auto devices = ExpandPlacement(RandomPlacement(rng, *problem), problem->grouping());
    const IssuedCommands issued = IssueCommands(*problem, devices, IssueOrder(problem->graph()));
    const PlacedGraph placed = PlaceGraph(*problem, devices, issued.copies);
    for (int v = 0; v < placed.graph.num_ops(); ++v) {
      for (const auto* side : {&placed.graph.op(v).inputs, &placed.graph.op(v).outputs}) {
        for (int t : *side) {
          const Storage storage = StorageOf(placed.graph, devices, t);
          REQUIRE((storage.device < 0 || storage.device == devices[v]));
          const bool is_received = storage.root >= problem->graph().num_tensors();
          if (!is_received) continue;
          const int original = storage.root;
          const bool is_here = std::ranges::any_of(placed.received, [&](const auto& entry) {
            return entry.second == original && entry.first.second == devices[v];
          });
          REQUIRE(is_here);
        }
      }
    }
  }
}

}  // namespace
