// Peaks of stream semantics by hand; the simulator's and the plan's own tests hold them against the
// plain implementation on random problems.

#include "framework/schedule/stream_memory.h"

#include <bit>

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The walk that the header describes.
std::vector<std::int64_t> WalkOver(StreamMemory& memory,
                                   const CompiledGraph& compiled,
                                   const std::vector<DeviceIndex>& device) {
  memory.Begin(compiled, device.data());
  for (int position = 0; position < compiled.num_ops; ++position) {
    memory.Allocate(compiled, position);
    for (int i = compiled.item_begin[position]; i < compiled.item_begin[position + 1]; ++i) {
      const std::uint64_t readers = memory.Make(compiled, i, position);
      CHECK(readers == compiled.ReaderDevices(i, device.data()));
      std::uint64_t remote = readers & ~(std::uint64_t{1} << device[position]);
      for (; remote != 0; remote &= remote - 1)
        memory.Receive(compiled, i, std::countr_zero(remote));
    }
    memory.Release(compiled, position);
  }
  return memory.peak();
}

TEST_CASE("buffers go behind their last use; a copy lives on its own device") {
  ProblemBuilder b;
  b.Op("a", {1}, {}, 100);
  b.Op("b", {1}, {0}, 30);
  b.Op("c", {1}, {1}, 7);
  b.Op("d", {1}, {0}, 1);
  b.op(2).workspace_bytes = 1000;
  const auto graph = b.BuildGraph();
  const CompiledGraph compiled(*graph, IssueOrder(*graph));
  StreamMemory memory(compiled, 2);
  // One device: a 100; b 130; c 137 + 1000, then b and c go: 100; d 101.
  CHECK(WalkOver(memory, compiled, {0, 0, 0, 0}) == std::vector<std::int64_t>{1137, 0});
  // c and d on device 1. Device 0: a 100; b 130, then both go. Device 1: a's copy 100; b's copy
  // 130; c 137 + 1000, then b's copy and c go: 100; d 101.
  CHECK(WalkOver(memory, compiled, {0, 0, 1, 1}) == std::vector<std::int64_t>{130, 1137});
  // The same object counts one placement after another.
  CHECK(WalkOver(memory, compiled, {0, 0, 0, 0}) == std::vector<std::int64_t>{1137, 0});
}

TEST_CASE("what is resident counts from the beginning, role output stays") {
  ProblemBuilder b;
  const int x = b.Input("x", 5);
  b.Op("w", {1}, {}, 1000);
  b.Op("y", {1}, {0}, 50);
  b.Op("z", {1}, {1}, 3);
  b.output(0).role = TensorRole::kParameter;
  b.output(1).role = TensorRole::kOutput;
  b.op(2).inputs.push_back(x);
  const auto graph = b.BuildGraph();
  const CompiledGraph compiled(*graph, IssueOrder(*graph));
  StreamMemory memory(compiled, 2);
  // y 50 stays beside z 3.
  CHECK(WalkOver(memory, compiled, {0, 0, 0}) == std::vector<std::int64_t>{1058, 0});
  // On device 1: x 5, y's copy 50 (which is released like any other), z 3.
  CHECK(WalkOver(memory, compiled, {0, 0, 1}) == std::vector<std::int64_t>{1050, 58});
}

TEST_CASE("an alias prolongs the buffer in which it lives: the root's own, or its copy") {
  ProblemBuilder b;
  b.Op("a", {1}, {}, 100);
  b.Op("view", {1}, {0}, 100);
  b.Op("other", {1}, {0}, 20);
  b.Op("reader", {1}, {1}, 3);
  b.output(1).alias_of = b.op(0).outputs[0];
  const auto graph = b.BuildGraph();
  const CompiledGraph compiled(*graph, IssueOrder(*graph));
  REQUIRE(compiled.alias_classes.size() == 1);
  CHECK(compiled.items[1].held == 0);
  StreamMemory memory(compiled, 2);
  // a 100, the view nothing, other 120 and 100, reader 103: a's buffer lives until then.
  CHECK(WalkOver(memory, compiled, {0, 0, 0, 0}) == std::vector<std::int64_t>{120, 0});
  // The view lives in the copy on device 1, which lives until its reader: 100, other 120, reader
  // 103.
  CHECK(WalkOver(memory, compiled, {0, 1, 1, 1}) == std::vector<std::int64_t>{100, 120});
  // Only `other` is elsewhere: its copy of a goes behind it, a's own buffer at the reader.
  CHECK(WalkOver(memory, compiled, {0, 0, 1, 0}) == std::vector<std::int64_t>{103, 120});

  std::vector<int> storage;
  const std::vector<DeviceIndex> apart{0, 1, 1, 1}, together{0, 0, 1, 0};
  CHECK(compiled.PlaceAliases(compiled.alias_classes[0], apart.data(), storage) == 0);
  CHECK(storage == std::vector<int>{1});
  CHECK(compiled.PlaceAliases(compiled.alias_classes[0], together.data(), storage) == 0);
  CHECK(storage == std::vector<int>{0});
}

}  // namespace
