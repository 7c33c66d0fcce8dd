#include "profilers/executor/placed_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;
using Numbers = std::vector<std::int64_t>;

TensorView View(Numbers shape, Numbers strides, std::int64_t offset = 0) {
  return {.dtype = DType::kF32,
          .shape = std::move(shape),
          .strides = std::move(strides),
          .offset = offset};
}

TEST_CASE("copies keep the order of memory") {
  SUBCASE("a transposed matrix is one run of bytes") {
    const CopyLayout layout = LayoutOfCopy(View({4, 3}, {1, 4}));
    CHECK(layout.source == View({3, 4}, {4, 1}));
    CHECK(layout.received == View({4, 3}, {1, 4}));
  }
  SUBCASE("of [2, 3, 4] with axes 0 and 2 exchanged, every other column of each row") {
    // Storage [4, 3, 8]; strides of the view [2, 3, 4]: 4, 8, 24.
    const CopyLayout layout = LayoutOfCopy(View({2, 3, 4}, {4, 8, 24}, 5));
    CHECK(layout.source == View({4, 3, 2}, {24, 8, 4}, 5));
    CHECK(layout.received == View({2, 3, 4}, {1, 2, 6}));
  }
  SUBCASE("axes of size 1 stay where they are") {
    const CopyLayout layout = LayoutOfCopy(View({1, 4, 1, 3}, {7, 1, 100, 4}));
    CHECK(layout.source.shape == Numbers{1, 3, 1, 4});
    CHECK(layout.received.strides[1] == 1);
    CHECK(layout.received.strides[3] == 4);
  }
  SUBCASE("row-major stays row-major") {
    const TensorView view = ContiguousView(DType::kI64, {2, 1, 5});
    CHECK(LayoutOfCopy(view).source == view);
    CHECK(LayoutOfCopy(view).received == view);
  }
  SUBCASE("repeated elements arrive row-major") {
    const CopyLayout layout = LayoutOfCopy(View({3, 4}, {0, 1}));
    CHECK(layout.source == View({3, 4}, {0, 1}));
    CHECK(layout.received == View({3, 4}, {4, 1}));
  }
}

// Element [i, j, ...] of the view is the one that the receiver finds at [i, j, ...].
TEST_CASE("random views: every element arrives at its place, none twice") {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    const int rank = UniformInt(rng, 5);
    TensorView view{.dtype = DType::kF32, .offset = UniformInt(rng, 3)};
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (int i = rank; i > 1; --i) std::swap(order[i - 1], order[UniformInt(rng, i)]);
    view.shape.resize(rank);
    view.strides.resize(rank);
    std::int64_t stride = 1;
    for (int axis : order) {
      view.shape[axis] = 1 + UniformInt(rng, 4);
      view.strides[axis] = UniformInt(rng, 8) == 0 ? 0 : stride * (1 + UniformInt(rng, 2));
      if (view.strides[axis] > 0) stride = view.strides[axis] * view.shape[axis];
    }
    const CopyLayout layout = LayoutOfCopy(view);
    const auto at = [](const TensorView& v, std::int64_t element, const Numbers& shape) {
      std::int64_t place = v.offset;
      for (size_t axis = shape.size(); axis-- > 0;) {
        place += element % shape[axis] * v.strides[axis];
        element /= shape[axis];
      }
      return place;
    };
    std::vector<std::int64_t> sent(view.num_elements());  // [packed place] place in the storage
    for (std::int64_t i = 0; i < view.num_elements(); ++i) {
      sent[i] = at(layout.source, i, layout.source.shape);
    }
    std::vector<bool> seen(sent.size());
    for (std::int64_t i = 0; i < view.num_elements(); ++i) {
      const std::int64_t received = at(layout.received, i, view.shape);
      REQUIRE(received >= 0);
      REQUIRE(received < static_cast<std::int64_t>(sent.size()));
      REQUIRE(sent[received] == at(view, i, view.shape));
      REQUIRE(!seen[received]);
      seen[received] = true;
    }
  }
}

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
