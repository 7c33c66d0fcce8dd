#include "profilers/executor/placed_graph.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "profilers/executor/copy_layout.h"
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

TEST_CASE("a transposed tensor arrives transposed, a slice of it without holes") {
  // x [3, 4] on d0 with its transpose t [4, 3] and the slice s [4, 2] of that; readers on d1.
  // t has strides 1, 4, no holes: kept. s has them too: its two columns lie one behind the other,
  // so 1, 4. From d1 the reader's view of t, x again (strides 4, 1), goes to d2: row-major.
  ProblemBuilder builder;
  for (const char* name : {"d0", "d1", "d2"}) builder.Device(name);
  const auto add = [&](const char* name,
                       const char* kind,
                       std::vector<int> inputs,
                       std::vector<std::int64_t> shape) {
    const int id = builder.Op(name, {1}, std::move(inputs), 4 * shape[0] * shape[1]);
    builder.op(id).kind = kind;
    builder.output(id).shape = std::move(shape);
    builder.output(id).dtype = "f32";
    return id;
  };
  const int x = add("x", "aten.relu", {}, {3, 4});
  const int t = add("t", "aten.t", {x}, {4, 3});
  const int s = add("s", "aten.slice", {t}, {4, 2});
  builder.op(s).attributes = R"({"dim": 1, "start": 1})";
  const int on_d1 = add("on_d1", "aten.relu", {t}, {4, 3});
  const int of_slice = add("of_slice", "aten.relu", {s}, {4, 2});
  const int back = add("back", "aten.t", {t}, {3, 4});
  const int on_d2 = add("on_d2", "aten.relu", {back}, {3, 4});
  const auto out = [&](int op) { return builder.op(op).outputs[0]; };
  builder.output(t).alias_of = out(x);
  builder.output(s).alias_of = out(t);
  builder.output(back).alias_of = out(t);
  builder.AllToAll(1, kGigabytePerSecond);
  const auto problem = builder.Build();
  const std::vector<DeviceIndex> devices{0, 0, 0, 1, 1, 1, 2};
  const IssuedCommands issued = IssueCommands(*problem, devices, IssueOrder(problem->graph()));
  const PlacedGraph placed = PlaceGraph(*problem, devices, issued.copies);

  const auto seen_by = [&](int op) {
    return LayoutOf(placed.graph, placed.graph.op(op).inputs[0], placed.layouts);
  };
  using Numbers = std::vector<std::int64_t>;
  CHECK(seen_by(on_d1).strides == Numbers{1, 4});
  CHECK(seen_by(of_slice).strides == Numbers{1, 4});
  CHECK(seen_by(of_slice).offset == 0);
  CHECK(seen_by(on_d2).strides == Numbers{4, 1});
  CHECK(LayoutOfCopy(SentLayout(placed, out(t))).source.is_contiguous());
  CHECK(LayoutOfCopy(SentLayout(placed, out(s))).source.offset == 4);
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
