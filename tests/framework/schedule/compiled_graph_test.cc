#include "framework/schedule/compiled_graph.h"

#include <doctest/doctest.h>

#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("items are numbered by position, tensor, control last; ops at the positions asked for") {
  ProblemBuilder b;
  b.Op("a", {1}, {}, 10);
  b.Op("b", {1}, {}, 20);
  b.Op("c", {1}, {0, 1}, 30);
  const int second = b.AddOutput(0, "a:1", 11);
  b.op(1).inputs.push_back(second);
  b.op(2).control_inputs = {0, 0};
  const auto graph = b.BuildGraph();
  const std::vector<int> order{0, 2, 1};  // any order serves
  const CompiledGraph compiled(*graph, order);
  CHECK(compiled.op_at == order);
  // a makes two tensors and, for c, one control item; then c's tensor, then b's.
  CHECK(compiled.num_items == 5);
  CHECK(compiled.item_begin == std::vector<int>{0, 3, 4, 5});
  CHECK(compiled.item_of == std::vector<int>{0, 4, 3, 1});
  CHECK(compiled.items[2].bytes == 0);
  CHECK(compiled.items[1].bytes == 11);
  CHECK(compiled.items[4].producer == 2);
  // a's first tensor is read by c, at position 1, its second by b, at 2; the control item by c.
  CHECK(compiled.reader_begin == std::vector<int>{0, 1, 2, 3, 3, 4});
  CHECK(compiled.readers == std::vector<int>{1, 2, 1, 1});
  CHECK(compiled.read_begin == std::vector<int>{0, 0, 3, 4});
  CHECK(compiled.reads == std::vector<int>{0, 4, 2, 1});
  CHECK(compiled.own_bytes == std::vector<std::int64_t>{21, 30, 20});
  const std::vector<DeviceIndex> device{0, 5, 63};  // by position
  CHECK(compiled.ReaderDevices(1, device.data()) == std::uint64_t{1} << 63);
  CHECK(compiled.ReaderDevices(3, device.data()) == 0);
}

TEST_CASE("resident bytes and places of aliases are those of the plain functions") {
  Rng rng(31);
  int aliases = 0, elsewhere = 0;
  for (int round = 0; round < 200 * EMPLACE_TEST_SCALE; ++round) {
    const int num_devices = 1 + UniformInt(rng, 4);
    const auto problem =
        RandomProblem(rng, {.num_ops = 1 + UniformInt(rng, 30), .num_devices = num_devices});
    const Graph& graph = problem->graph();
    const auto device_of_op = ExpandPlacement(RandomPlacement(rng, *problem), problem->grouping());
    const CompiledGraph compiled(graph, IssueOrder(graph));
    std::vector<DeviceIndex> device;
    for (int v : compiled.op_at) device.push_back(device_of_op[v]);
    CAPTURE(round);

    std::vector<std::int64_t> resident(num_devices, 0);
    compiled.AddResidentBytes(device.data(), resident.data());
    REQUIRE(resident == ResidentBytes(graph, num_devices, device_of_op));

    std::vector<int> tensor_of(compiled.num_items, -1), storage;
    for (int t = 0; t < graph.num_tensors(); ++t) {
      if (compiled.item_of[t] >= 0) tensor_of[compiled.item_of[t]] = t;
    }
    for (const auto& shared : compiled.alias_classes) {
      if (shared.root < 0) continue;  // a graph input
      const int home = device[compiled.items[shared.root].producer];
      const std::uint64_t pinned = compiled.PlaceAliases(shared, device.data(), storage);
      std::uint64_t expected = shared.root_pinned ? std::uint64_t{1} << home : std::uint64_t{0};
      for (size_t i = 0; i < shared.members.size(); ++i) {
        const int tensor = tensor_of[shared.members[i]];
        const Storage plain = StorageOf(graph, device_of_op, tensor);
        REQUIRE(plain.root == tensor_of[shared.root]);
        REQUIRE(storage[i] == plain.device);
        if (IsNeverReleased(graph.tensor(tensor))) expected |= std::uint64_t{1} << plain.device;
        ++aliases;
        elsewhere += plain.device != home;
      }
      REQUIRE(pinned == expected);
    }
  }
  CHECK(aliases > 0);
  CHECK(elsewhere > 0);
}

}  // namespace
