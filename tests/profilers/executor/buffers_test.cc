#include "profilers/executor/buffers.h"

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

ProgramBuffers BuffersOf(const Problem& problem, const std::vector<DeviceIndex>& devices) {
  const std::vector<int> order = IssueOrder(problem.graph());
  const IssuedCommands issued = IssueCommands(problem, devices, order);
  const PlacedGraph placed = PlaceGraph(problem, devices, issued.copies);
  std::vector<CompiledOp> ops;
  for (int v = 0; v < placed.graph.num_ops(); ++v) {
    ops.push_back(
        {.name = placed.graph.op(v).name, .work = WorkOf(placed.graph, v, placed.layouts)});
  }
  return FindBuffers(problem, devices, order, issued, placed, ops);
}

TEST_CASE("storage, received copies, views, inputs and workspaces") {
  // w (parameter) and y = relu(w) on d0; z = relu(y), with a workspace, and a view of y on d1.
  // Commands: 0 w, 1 y, 2 copy of y, 3 z, 4 view.
  ProblemBuilder builder;
  builder.Device("d0");
  builder.Device("d1");
  const auto add = [&](const char* name, const char* kind, std::vector<int> inputs) {
    const int id = builder.Op(name, {1}, std::move(inputs), 16);
    builder.op(id).kind = kind;
    builder.output(id).shape = {4};
    builder.output(id).dtype = "f32";
    return id;
  };
  const int w = add("w", "parameter", {});
  const int y = add("y", "aten.relu", {w});
  const int z = add("z", "aten.relu", {y});
  const int view = add("view", "aten.view", {y});
  builder.output(w).role = TensorRole::kParameter;
  builder.op(z).workspace_bytes = 1000;
  builder.output(view).alias_of = builder.op(y).outputs[0];
  builder.AllToAll(1, kGigabytePerSecond);
  const auto problem = builder.Build();
  const ProgramBuffers program = BuffersOf(*problem, {0, 0, 1, 1});

  const int of_w = program.ops[w].outputs[0], of_y = program.ops[y].outputs[0];
  const int received = program.ops[z].inputs[0];
  CHECK(program.buffers.size() == 5);  // w, y, z, y received, workspace
  CHECK(program.buffers[of_w].pinned);
  CHECK(program.buffers[of_w].users == std::vector<int>{0, 1});
  CHECK(!program.buffers[of_y].pinned);
  CHECK(program.buffers[of_y].users == std::vector<int>{1, 2});
  CHECK(program.buffers[received].device == 1);
  CHECK(program.buffers[received].users == std::vector<int>{2, 3, 4});
  CHECK(program.ops[view].outputs[0] == received);
  CHECK(program.copies[2].source == of_y);
  CHECK(program.copies[2].destinations == std::vector<int>{received});
  CHECK(program.copies[1].source == -1);
  CHECK(program.buffers.back().bytes == 1000);
  CHECK(program.buffers.back().users == std::vector<int>{3});
  REQUIRE(program.accesses[2].size() == 2);
  CHECK(!program.accesses[2][0].writes);
  CHECK(program.accesses[2][1].writes);
}

}  // namespace
