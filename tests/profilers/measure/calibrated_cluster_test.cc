#include "profilers/measure/calibrated_cluster.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "profilers/measure/in_situ.h"
#include "tests/profilers/measure/virtual_machine.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// A link timed at powers of two: latency + bytes * slope.
LinkMeasurement Timed(const std::string& from,
                      const std::string& to,
                      const std::string& memory,
                      double latency,
                      double slope,
                      int sizes = 12,
                      std::int64_t samples = 10) {
  LinkMeasurement link{.from = from, .to = to, .memory = memory};
  for (int i = 0; i < sizes; ++i) {
    const std::int64_t bytes = std::int64_t{16} << i;
    const double nanos = latency + slope * static_cast<double>(bytes);
    link.points.emplace_back(bytes, Timing{nanos, nanos, nanos, samples});
  }
  return link;
}

struct CalibrateFixture {
  VirtualMachine machine;
  std::shared_ptr<Backend> backend;
  CostTable table;

  CalibrateFixture() {
    machine.AddDevice("cpu:0", 1 << 30);
    machine.AddDevice("gpu:0", 1 << 20);
    machine.AddDevice("gpu:1");
    machine.AddLink(0, 1, "pinned");
    machine.AddLink(0, 1, "pageable");
    machine.AddLink(1, 0, "pinned");
    machine.AddLink(0, 2, "pinned");
    machine.AddLink(2, 0, "pinned");
    backend = machine.Make();
    table.machine = "testbed";
    table.links = {Timed("cpu:0", "gpu:0", "pageable", 9000, 1),
                   Timed("cpu:0", "gpu:0", "pinned", 1000, 0.25),
                   Timed("gpu:0", "cpu:0", "pinned", 1200, 0.5),
                   Timed("cpu:0", "gpu:1", "pinned", 1300, 0.125),
                   Timed("gpu:1", "cpu:0", "pinned", 1400, 1.0 / 3)};
    KindCosts cpu{.kind = machine.devices[0].kind};
    cpu.kind.gap = 30;
    cpu.kind.launch = 2000;
    KindCosts gpu{.kind = machine.devices[1].kind};
    gpu.kind.gap = 400;
    gpu.by_class["matmul"] = {
        .overhead_ns = 900, .flops_per_second = 8e12, .bytes_per_second = 1e12};
    gpu.by_class["elementwise"] = {
        .overhead_ns = 700, .flops_per_second = 2e12, .bytes_per_second = 2e12};
    gpu.by_class["reduction"] = {.overhead_ns = 800, .bytes_per_second = 1.5e12};
    table.kinds = {cpu, gpu};
    table.dispatch = {
        {.device_kind = "cpu", .launch_ns = 50, .issue_ns = 11, .wait_ns = 100},
        {.device_kind = "gpu", .launch_ns = 4000.6, .issue_ns = 2500, .wait_ns = 900}};
  }
};

TEST_CASE("channels: a fit per link, waits in the latency, busy until the copy is made") {
  CalibrateFixture f;
  const Cluster cluster = CalibratedCluster(f.table, *f.backend, "measured");
  CHECK(cluster.name() == "measured");
  REQUIRE(cluster.num_channels() == 4);
  const Channel& down = cluster.channel(cluster.route(0, 1)[0]);
  CHECK(down.name == "cpu:0->gpu:0");
  CHECK(down.setup == 1000);         // the first link of the two
  CHECK(down.latency == 100 + 900);  // waits of both ends
  CHECK(down.bandwidth == Bandwidth{4'000'000'000, 1});
  CHECK(down.gap == 30);
  const Channel& up = cluster.channel(cluster.route(1, 0)[0]);
  CHECK(up.setup == 1200);
  CHECK(up.latency == 900 + 100);
  CHECK(up.bandwidth == Bandwidth{2'000'000'000, 1});
  CHECK(up.gap == 400);
  CHECK(cluster.channel(cluster.route(2, 0)[0]).bandwidth == Bandwidth{3'000'000'000, 1});
  // No link between the GPUs: through the host.
  REQUIRE(cluster.route(1, 2).size() == 2);
  CHECK(cluster.channel(cluster.route(1, 2)[0]).name == "gpu:0->cpu:0");
  CHECK(cluster.channel(cluster.route(1, 2)[1]).name == "cpu:0->gpu:1");
  CHECK(cluster.device(1).memory == 1 << 20);
  CHECK(cluster.device(2).memory == kUnlimitedMemory);
  CHECK(cluster.device(1).kind == cluster.device(2).kind);
}

TEST_CASE("copies seen in whole steps beat those timed alone if there are enough") {
  CalibrateFixture f;
  const auto channel = [&] {
    const Cluster cluster = CalibratedCluster(f.table, *f.backend, "c");
    return cluster.channel(cluster.route(0, 1)[0]);
  };
  // 8 sizes are enough, 7 of one copy each are not, 3 with 20 copies are.
  f.table.links.push_back(Timed("cpu:0", "gpu:0", kInSituMemory, 600, 0.5, 8, 1));
  CHECK(channel().setup == 600);
  CHECK(channel().bandwidth == Bandwidth{2'000'000'000, 1});
  f.table.links.back() = Timed("cpu:0", "gpu:0", kInSituMemory, 600, 0.5, 7, 1);
  CHECK(channel().setup == 1000);
  f.table.links.back() = Timed("cpu:0", "gpu:0", kInSituMemory, 600, 0.5, 3, 7);
  CHECK(channel().setup == 600);
  f.table.links.back() = Timed("cpu:0", "gpu:0", kInSituMemory, 600, 0.5, 2, 100);
  CHECK(channel().setup == 1000);
}

TEST_CASE("host costs: of eager steps from dispatch, of captured ones as seen in such steps") {
  CalibrateFixture f;
  const auto kind = [&](DispatchMode mode, int device) {
    return CalibratedCluster(f.table, *f.backend, "c", mode).kind_of(device);
  };
  CHECK(kind(DispatchMode::kEager, 1).issue == 2500);
  CHECK(kind(DispatchMode::kEager, 1).launch == 4001);
  CHECK(kind(DispatchMode::kEager, 0).issue == 11);
  CHECK(kind(DispatchMode::kGraph, 0).issue == 0);
  CHECK(kind(DispatchMode::kGraph, 0).launch == 0);  // nobody says of which steps the 2000 ns are
  f.table.properties[kDispatchProperty] = ToString(DispatchMode::kGraph);
  CHECK(kind(DispatchMode::kGraph, 0).launch == 2000);
  CHECK(kind(DispatchMode::kGraph, 0).gap == 30);
}

TEST_CASE("rates: the best fit is the peak, the others are shares of it") {
  CalibrateFixture f;
  const DeviceKind gpu = CalibratedCluster(f.table, *f.backend, "c").kind_of(1);
  CHECK(gpu.peak.at("f32") == 8e12);
  CHECK(gpu.efficiency.at("matmul") == 1);
  CHECK(gpu.efficiency.at("elementwise") == 0.25);
  CHECK_FALSE(gpu.efficiency.contains("reduction"));  // its fit saw no FLOPs
  CHECK(gpu.memory_bandwidth == 2e12);
  CHECK(gpu.efficiency.at("memory") == 0.75);  // the median of 1, 1.5 and 2 TB/s
  CHECK(gpu.overhead == 800);
  CHECK(gpu.source == "measured on testbed");
  // An op that reached 1 TFLOP/s and 1.2 TB/s: no fit is believed beyond twice that.
  const Timing timing{1000, 1000, 1000, 9};
  f.table.kinds[1].ops = {{.signature = "a", .flops = 1e6, .bytes = 1'200'000, .isolated = timing}};
  const DeviceKind seen = CalibratedCluster(f.table, *f.backend, "c").kind_of(1);
  CHECK(seen.peak.at("f32") == 2e12);
  CHECK(seen.efficiency.at("matmul") == 1);
  CHECK(seen.efficiency.at("elementwise") == 1);
  CHECK(seen.memory_bandwidth == 2e12);
  // Without fits: the best op. Proxies tell nothing.
  f.table.kinds[0].ops = {{.signature = "a", .flops = 3000, .bytes = 100, .isolated = timing},
                          {.signature = "b", .flops = 10, .bytes = 9000, .isolated = timing},
                          {.signature = "c",
                           .flops = 1e9,
                           .bytes = 1,
                           .is_proxy = true,
                           .isolated = Timing{1, 1, 1, 9}}};
  const DeviceKind cpu = CalibratedCluster(f.table, *f.backend, "c").kind_of(0);
  CHECK(cpu.peak.at("f32") == 3e9);
  CHECK(cpu.memory_bandwidth == 9e9);
  CHECK(cpu.efficiency.empty());
}

TEST_CASE("a link that nobody timed is refused") {
  CalibrateFixture f;
  f.table.links.resize(2);
  CHECK(MessageOf<InputError>([&] { CalibratedCluster(f.table, *f.backend, "c"); }) ==
        "cost table of machine \"testbed\": no timings of the link cpu:0->gpu:1 (pinned); it has "
        "cpu:0->gpu:0 (pageable), cpu:0->gpu:0 (pinned)");
}

}  // namespace
