#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/schedule/issue_order.h"
#include "framework/schedule/memory_plan.h"
#include "framework/schedule/transfer_plan.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("issue order: available ops by least id; a priority goes before the id") {
  ProblemBuilder b;
  b.Device("d0");
  b.Op("a", {1});
  b.Op("b", {1});
  b.Op("c", {1});
  b.Op("d", {1}, {0});
  b.op(0).inputs = {b.op(2).outputs[0]};  // c -> a -> d
  const auto graph = b.BuildGraph();
  CHECK(IssueOrder(*graph) == std::vector<int>{1, 2, 0, 3});
  const std::vector<std::int64_t> priority{9, 1, 5, 7};
  // Available: b (1), c (5): c; then a (9), d (7), b.
  CHECK(IssueOrder(*graph, priority) == std::vector<int>{2, 0, 3, 1});
  const std::vector<std::int64_t> equal(4, 3);
  CHECK(IssueOrder(*graph, equal) == IssueOrder(*graph));
}

TEST_CASE("copies: tensors ascending, control last, destinations in device order, broadcast once") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2", "d3"}) b.Device(name);
  const int bus = b.Channel("bus", 0, kGigabytePerSecond, 0, true);
  const int link = b.Channel("link", 0, kGigabytePerSecond);
  b.Route(0, 1, {bus});
  b.Route(0, 2, {link});
  b.Route(0, 3, {bus});
  b.Op("a", {1}, {}, 11);
  b.AddOutput(0, "a:1", 22);
  b.Op("x", {1}, {0});
  b.Op("y", {1}, {0});
  b.Op("z", {1}, {0});
  b.op(1).inputs.push_back(b.op(0).outputs[1]);
  b.op(2).control_inputs = {0};
  std::swap(b.op(0).outputs[0], b.op(0).outputs[1]);  // listed against the order of ids
  const auto graph = b.BuildGraph();
  const std::vector<DeviceIndex> devices{0, 1, 2, 3};
  const auto copies = CopiesOf(*graph, *b.BuildCluster(), devices, 0);
  REQUIRE(copies.size() == 4);
  CHECK(copies[0].tensor == 0);
  CHECK(copies[0].destinations == std::vector<int>{1, 3});
  CHECK(copies[1].destinations == std::vector<int>{2});
  CHECK(copies[2].tensor > copies[0].tensor);
  CHECK(copies[2].bytes == 22);
  CHECK(copies[3].tensor == kControlTensor);
  CHECK(copies[3].destinations == std::vector<int>{2});
  CHECK(copies[3].bytes == 0);
}

TEST_CASE("hops: by destination, each way to its end; what destinations share goes first") {
  // From d0: to d1 over the bus, to d2 over the bus and a link, to d3 over two links.
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2", "d3"}) b.Device(name);
  const int bus = b.Channel("bus", 0, kGigabytePerSecond, 0, true);
  const int link = b.Channel("link", 0, kGigabytePerSecond);
  b.Route(0, 1, {bus});
  b.Route(0, 2, {bus, link});
  b.Route(0, 3, {link, link});
  const std::vector<Copy> copies = {{0, 7, 8, 0, {1, 2}}, {0, 7, 8, 0, {3}}};
  const std::vector<Hop> hops = HopsOf(*b.BuildCluster(), copies);
  REQUIRE(hops.size() == 4);
  const auto check =
      [&](int i, int copy, int position, int channel, std::vector<int> to, int behind) {
        CAPTURE(i);
        CHECK(hops[i].copy == copy);
        CHECK(hops[i].position == position);
        CHECK(hops[i].channel == channel);
        CHECK(hops[i].destinations == to);
        CHECK(hops[i].behind == behind);
      };
  check(0, 0, 0, bus, {1, 2}, -1);
  check(1, 0, 1, link, {2}, 0);
  check(2, 1, 0, link, {3}, -1);
  check(3, 1, 1, link, {3}, 2);
}

TEST_CASE("copies and hops from a device in the middle, to those before and behind it") {
  // From d2: to d0 and d3 over the bus, to d1 over two links. Nothing goes to d2 itself.
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2", "d3"}) b.Device(name);
  const int other = b.Channel("other", 0, kGigabytePerSecond, 0, true);
  const int bus = b.Channel("bus", 0, kGigabytePerSecond, 0, true);
  const int link = b.Channel("link", 0, kGigabytePerSecond);
  for (const int to : {1, 2, 3}) b.Route(0, to, {other});
  b.Route(2, 0, {bus});
  b.Route(2, 1, {link, link});
  b.Route(2, 3, {bus});
  b.Op("first", {1});  // so that the producer is not op 0
  b.Op("a", {1}, {}, 11);
  for (const char* name : {"v", "w", "x", "y"}) b.Op(name, {1}, {1});
  const auto graph = b.BuildGraph();
  const auto cluster = b.BuildCluster();
  const std::vector<DeviceIndex> devices{0, 2, 3, 2, 1, 0};
  const auto copies = CopiesOf(*graph, *cluster, devices, 1);
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].producer == 1);
  CHECK(copies[0].source == 2);
  CHECK(copies[0].bytes == 11);
  CHECK(copies[0].destinations == std::vector<int>{0, 3});
  CHECK(copies[1].source == 2);
  CHECK(copies[1].destinations == std::vector<int>{1});
  const std::vector<Hop> hops = HopsOf(*cluster, copies);
  REQUIRE(hops.size() == 3);
  CHECK(hops[0].channel == bus);
  CHECK(hops[0].destinations == std::vector<int>{0, 3});
  CHECK(hops[1].channel == link);
  CHECK(hops[1].destinations == std::vector<int>{1});
  CHECK(hops[1].behind == -1);
  CHECK(hops[2].copy == 1);
  CHECK(hops[2].position == 1);
  CHECK(hops[2].behind == 1);

  // No route leads from d3, and none from d0 back to itself.
  const std::vector<DeviceIndex> stuck{0, 3, 3, 3, 3, 0};
  CHECK(
      MessageOf<InputError>([&] { CopiesOf(*graph, *cluster, stuck, 1); }) ==
      "cluster \"test_cluster\": no route from \"d3\" to \"d0\", which op \"a\" needs for tensor 1 "
      "\"a:0\" (11 B)");
  CHECK(CopiesOf(*graph, *cluster, std::vector<DeviceIndex>(6, 3), 1).empty());
}

TEST_CASE("a tensor is local where it is made, and a graph input everywhere") {
  ProblemBuilder b;
  b.Device("d0");
  b.Device("d1");
  b.Op("a", {1}, {}, 8);
  const int in = b.Input("in", 8);
  b.op(0).inputs.push_back(in);
  const auto graph = b.BuildGraph();
  const std::vector<DeviceIndex> devices{1};
  CHECK(IsLocal(*graph, devices, graph->op(0).outputs[0], 1));
  CHECK(!IsLocal(*graph, devices, graph->op(0).outputs[0], 0));
  CHECK(IsLocal(*graph, devices, in, 0));
  CHECK(IsLocal(*graph, devices, in, 1));
}

TEST_CASE("resident bytes: parameters at home, inputs wherever they are read, aliases nothing") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1"}) b.Device(name);
  const int x = b.Input("x", 5);
  b.Op("w", {0}, {}, 100);
  b.Op("a", {1}, {0}, 7);
  b.Op("update", {1}, {0}, 100);
  b.output(0).role = TensorRole::kParameter;
  b.output(2).role = TensorRole::kParameter;
  b.output(2).alias_of = b.op(0).outputs[0];
  b.op(1).inputs.push_back(x);
  b.op(2).inputs.push_back(x);
  const auto graph = b.BuildGraph();
  CHECK(ResidentBytes(*graph, 2, std::vector<DeviceIndex>{0, 1, 0}) ==
        std::vector<std::int64_t>{105, 5});
  CHECK(ResidentBytes(*graph, 2, std::vector<DeviceIndex>{0, 0, 0}) ==
        std::vector<std::int64_t>{105, 0});
}

TEST_CASE("storage of aliases: at home, in the received copy, or with the graph input") {
  ProblemBuilder b;
  for (const char* name : {"d0", "d1", "d2"}) b.Device(name);
  const int x = b.Input("x", 5);
  b.Op("a", {1}, {}, 10);
  b.Op("alias", {1}, {0}, 10);
  b.Op("view_of_x", {1}, {}, 5);
  b.Op("strange", {1}, {}, 10);  // aliases a without reading it
  b.output(1).alias_of = b.op(0).outputs[0];
  b.output(2).alias_of = x;
  b.output(3).alias_of = b.op(1).outputs[0];
  const auto graph = b.BuildGraph();
  const int a = b.op(0).outputs[0];
  const std::vector<DeviceIndex> apart{0, 1, 0, 2}, together{0, 0, 0, 0};
  const auto storage = [&](const std::vector<DeviceIndex>& devices, int op) {
    const Storage s = StorageOf(*graph, devices, graph->op(op).outputs[0]);
    return std::pair(s.root, s.device);
  };
  CHECK(storage(together, 1) == std::pair(a, 0));
  CHECK(storage(apart, 1) == std::pair(a, 1));
  CHECK(storage(apart, 3) == std::pair(a, 0));
  CHECK(storage(apart, 2) == std::pair(x, -1));
}

}  // namespace
