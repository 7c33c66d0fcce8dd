#include "framework/cluster/symmetry.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/cluster/cluster_io.h"
#include "framework/cost/cost_model.h"
#include "framework/cost/costs.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<DevicePermutation> SymmetriesOf(const ProblemBuilder& builder, std::size_t most) {
  const auto problem = builder.Build();
  return Symmetries(problem->cluster(), DevicesOfEqualCosts(problem->costs()), most);
}

std::vector<int> ClassesOf(const ProblemBuilder& builder) {
  const auto problem = builder.Build();
  return InterchangeableDevices(problem->cluster(), DevicesOfEqualCosts(problem->costs()));
}

// A CPU and two boards of two GPUs each: a host channel and a channel of its own for each board,
// one channel between the boards.
ProblemBuilder TwoBoards() {
  ProblemBuilder b;
  b.Device("cpu:0");
  for (int d = 0; d < 4; ++d) b.Device(fmt::format("gpu:{}", d), 1000);
  const int between = b.Channel("between", 3, kGigabytePerSecond);
  for (int board = 0; board < 2; ++board) {
    const int host = b.Channel(fmt::format("host{}", board), 2, kGigabytePerSecond);
    const int own = b.Channel(fmt::format("own{}", board), 1, kGigabytePerSecond);
    for (const int d : {2 * board + 1, 2 * board + 2}) {
      b.Route(0, d, {host});
      b.Route(d, 0, {host});
      for (int e = 1; e <= 4; ++e) {
        if (e != d) b.Route(d, e, {(e - 1) / 2 == board ? own : between});
      }
    }
  }
  return b;
}

TEST_CASE("two boards of two GPUs: within a board, and the boards as a whole") {
  ProblemBuilder b = TwoBoards();
  b.Op("a", {9, 2, 2, 2, 2});
  // Each board's GPUs exchanged or not, the boards exchanged or not: 2 * 2 * 2.
  const std::vector<DevicePermutation> all = SymmetriesOf(b, 100);
  CHECK(all.size() == 8);
  CHECK(all.front() == DevicePermutation{0, 1, 2, 3, 4});
  CHECK(std::ranges::count(all, DevicePermutation{0, 3, 4, 1, 2}) == 1);
  CHECK(std::ranges::count(all, DevicePermutation{0, 2, 1, 4, 3}) == 1);
  CHECK(ClassesOf(b) == std::vector<int>{0, 1, 1, 3, 3});
  // At most 7: gpu:0 stays, and with it gpu:1 and the boards; gpu:2 and gpu:3 may be exchanged.
  CHECK(SymmetriesOf(b, 7) == std::vector<DevicePermutation>{{0, 1, 2, 3, 4}, {0, 1, 2, 4, 3}});
  CHECK(SymmetriesOf(b, 1) == std::vector<DevicePermutation>{{0, 1, 2, 3, 4}});
}

TEST_CASE("each figure of a device tells devices apart") {
  const auto symmetries = [](const auto& change) {
    ProblemBuilder b = Gpus(2);
    b.Op("a", {5, 5});
    change(b);
    return SymmetriesOf(b, 10).size();
  };
  CHECK(symmetries([](ProblemBuilder&) {}) == 2);
  CHECK(symmetries([](ProblemBuilder& b) { b.kind(1).gap = 1; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.kind(1).issue = 1; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.kind(1).launch = 1; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.kind(1).pays_transfers = false; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.kind(1).cold_read = Bandwidth{1, 1}; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.Op("b", {5, 6}); }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.Op("b", {5, kMaxNanos}); }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).latency = 2; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).setup = 2; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).gap = 2; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).bandwidth.bytes = 5; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).occupies = Occupies::kSource; }) == 1);
  CHECK(symmetries([](ProblemBuilder& b) { b.channel(0).broadcast = true; }) == 1);
  ProblemBuilder memory;
  memory.Device("d0", 10);
  memory.Device("d1", 11);
  memory.AllToAll(1, kGigabytePerSecond);
  memory.Op("a", {5});
  CHECK(SymmetriesOf(memory, 10).size() == 1);
  ProblemBuilder slots;
  slots.Device("d0", kUnlimitedMemory, 2);
  slots.Device("d1");
  slots.AllToAll(1, kGigabytePerSecond);
  slots.Op("a", {5});
  CHECK(SymmetriesOf(slots, 10).size() == 1);
}

TEST_CASE("an op that names one of several equal devices tells it apart") {
  const Cluster cluster = ParseCluster(
      ConfigNode::FromString("name: three\ndevice_kinds: {g: {class: gpu}}\n"
                             "devices: [{name: g0, kind: g}, {name: g1, kind: g}, {name: g2, kind: "
                             "g}]\nall_to_all: {bandwidth: 1GB/s}\n",
                             "three.yaml"),
      {});
  const auto classes = [&](const std::vector<std::string>& devices) {
    Op op;
    op.name = "a";
    op.kind = "k";
    op.cost_ns = {{"g", 5.0}};
    op.devices = devices;
    return InterchangeableDevices(cluster,
                                  DevicesOfEqualCosts(ComputeCosts(Graph("g", {}, {op}), cluster)));
  };
  CHECK(classes({}) == std::vector<int>{0, 0, 0});
  CHECK(classes({"g*"}) == std::vector<int>{0, 0, 0});
  CHECK(classes({"g0"}) == std::vector<int>{0, 1, 1});
  CHECK(classes({"g1", "g2"}) == std::vector<int>{0, 1, 1});
  CHECK(classes({"g1"}) == std::vector<int>{0, 1, 0});
}

TEST_CASE("what shares a channel tells devices apart") {
  ProblemBuilder b;
  for (int d = 0; d < 3; ++d) b.Device(fmt::format("d{}", d));
  const int shared = b.Channel("shared", 1, kGigabytePerSecond);
  b.Route(0, 1, {shared});
  b.Route(1, 0, {shared});
  b.AllToAll(1, kGigabytePerSecond);
  b.Op("a", {5});
  CHECK(SymmetriesOf(b, 10) == std::vector<DevicePermutation>{{0, 1, 2}, {1, 0, 2}});
  CHECK(ClassesOf(b) == std::vector<int>{0, 0, 2});
}

TEST_CASE("neighbours that share caches or bandwidth tell devices apart") {
  ProblemBuilder b = Gpus(3);
  b.Op("a", {5});
  CHECK(SymmetriesOf(b, 10).size() == 6);
  b.Share(0, 1);
  CHECK(SymmetriesOf(b, 10) == std::vector<DevicePermutation>{{0, 1, 2}, {1, 0, 2}});
  CHECK(ClassesOf(b) == std::vector<int>{0, 0, 2});
}

TEST_CASE("many equal devices are found without listing their permutations") {
  ProblemBuilder b = Gpus(16);
  b.Op("a", {5});
  CHECK(ClassesOf(b) == std::vector<int>(16, 0));
  const std::vector<DevicePermutation> some = SymmetriesOf(b, 1000);
  CHECK(some.size() == 720);  // of six devices, ten staying where they are
  for (const DevicePermutation& image : some) {
    for (int d = 0; d < 10; ++d) CHECK(image[d] == d);
  }
}

TEST_CASE("the order of destinations matters where copies meet") {
  ProblemBuilder b;
  for (int d = 0; d < 4; ++d) b.Device(fmt::format("d{}", d));
  const int bus = b.Channel("bus", 1, kGigabytePerSecond);
  const int last = b.Channel("last", 1, kGigabytePerSecond);
  const int push = b.Channel("push", 1, kGigabytePerSecond);
  const int push_too = b.Channel("push_too", 1, kGigabytePerSecond);
  b.channel(push).occupies = b.channel(push_too).occupies = Occupies::kSource;
  b.Route(0, 1, {bus});
  b.Route(0, 2, {bus, last});
  b.Route(2, 0, {push});
  b.Route(2, 1, {push_too});
  b.AllToAll(1, kGigabytePerSecond);
  b.kind(3).issue = 1;
  b.Op("a", {5});
  const auto cluster = b.BuildCluster();
  CHECK(OrderMatters(*cluster, 0, 1, 2));        // share the bus
  CHECK_FALSE(OrderMatters(*cluster, 0, 1, 3));  // d3 has a channel of its own
  CHECK(OrderMatters(*cluster, 2, 0, 1));        // both occupy d2
  CHECK_FALSE(OrderMatters(*cluster, 2, 0, 3));  // one of them does
  CHECK_FALSE(OrderMatters(*cluster, 1, 0, 2));
  CHECK(OrderMatters(*cluster, 3, 0, 1));  // the host issues one after the other
}

// Straight from the definition: the hops of all routes, paired with those of their images, map
// channels one to one.
bool IsSymmetric(const Cluster& cluster, const DevicePermutation& image) {
  const int n = cluster.num_devices();
  std::vector<std::pair<int, int>> mapped;
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const auto from = cluster.route(a, b), to = cluster.route(image[a], image[b]);
      if (from.size() != to.size()) return false;
      for (std::size_t i = 0; i < from.size(); ++i) mapped.emplace_back(from[i], to[i]);
    }
  }
  for (const auto& [k, m] : mapped) {
    if (cluster.channel(k).latency != cluster.channel(m).latency) return false;
    if (cluster.channel(k).setup != cluster.channel(m).setup) return false;
    for (const auto& [other, other_image] : mapped) {
      if ((k == other) != (m == other_image)) return false;
    }
  }
  return true;
}

TEST_CASE("random wirings: exactly the permutations that the definition allows") {
  Rng rng(3);
  int several = 0;
  for (int round = 0; round < 500 * EMPLACE_TEST_SCALE; ++round) {
    const int n = 2 + UniformInt(rng, 3);
    ProblemBuilder b;
    for (int d = 0; d < n; ++d) b.Device(fmt::format("d{}", d));
    std::vector<int> channels;
    for (int k = 0; k < 1 + UniformInt(rng, 3); ++k) {
      channels.push_back(b.Channel(fmt::format("k{}", k), UniformInt(rng, 2), kGigabytePerSecond));
    }
    const auto draw = [&] { return channels[UniformInt(rng, static_cast<int>(channels.size()))]; };
    for (int a = 0; a < n; ++a) {
      for (int c = 0; c < n; ++c) {
        if (a == c || UniformInt(rng, 3) == 0) continue;
        std::vector<int> route{draw()};
        if (UniformInt(rng, 4) == 0) route.push_back(draw());
        b.Route(a, c, route);
      }
    }
    b.AllToAll(0, kGigabytePerSecond);
    b.Op("a", {1});
    const auto problem = b.Build();
    std::vector<DevicePermutation> expected;
    DevicePermutation image(n);
    std::iota(image.begin(), image.end(), 0);
    do {
      if (IsSymmetric(problem->cluster(), image)) expected.push_back(image);
    } while (std::ranges::next_permutation(image).found);
    std::vector<DevicePermutation> found =
        Symmetries(problem->cluster(), DevicesOfEqualCosts(problem->costs()), 100);
    std::ranges::sort(found);
    REQUIRE(found == expected);
    several += expected.size() > 1;
  }
  CHECK(several > 20);
}

}  // namespace
