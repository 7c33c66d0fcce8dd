// METIS, Scotch and contiguous blocks: what a partition must be.

#include <algorithm>
#include <cstdio>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "agents/contiguous/contiguous.h"
#include "agents/metis/metis_agent.h"
#include "agents/random/random_agent.h"
#include "agents/scotch/scotch_agent.h"
#include "framework/base/file.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Sends the standard output, to which libraries might write, into a file for a while.
class SilentStdout {
 public:
  explicit SilentStdout(const std::filesystem::path& path) : path_(path), saved_(dup(1)) {
    std::fflush(stdout);
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    dup2(file, 1);
    close(file);
  }
  ~SilentStdout() {
    std::fflush(stdout);
    dup2(saved_, 1);
    close(saved_);
  }
  std::string Text() const {
    std::fflush(stdout);
    return ReadFile(path_);
  }

 private:
  std::filesystem::path path_;
  int saved_;
};

template <class A>
Placement PlacementOf(std::shared_ptr<const Problem> problem, typename A::Config config = {}) {
  A agent({problem, 1}, config);
  return RunAgent(agent, problem, 100).placements.back();
}

// Bytes between devices, every pair of groups once.
std::int64_t Cut(const Problem& problem, const Placement& placement) {
  std::int64_t bytes = 0;
  for (int group = 0; group < problem.num_groups(); ++group) {
    for (const Problem::Edge& edge : problem.neighbors(group)) {
      if (placement.device[group] < placement.device[edge.neighbor]) bytes += edge.bytes;
    }
  }
  return bytes;
}

std::vector<Nanos> Loads(const Problem& problem, const Placement& placement) {
  std::vector<Nanos> loads(problem.num_devices(), 0);
  for (int group = 0; group < problem.num_groups(); ++group) {
    loads[placement.device[group]] += problem.group_cost(group, placement.device[group]);
  }
  return loads;
}

// `count` clusters of 8 ops of 10 ns each: within one, every op reads the op before and the first
// (1000 B); cluster i and i + 1 are joined by `bridge[i]` bytes.
std::shared_ptr<const Problem> Clusters(ProblemBuilder& builder,
                                        int count,
                                        const std::vector<std::int64_t>& bridge) {
  int last = -1;
  for (int c = 0; c < count; ++c) {
    int first = -1, previous = -1;
    for (int i = 0; i < 8; ++i) {
      const int op = builder.Op(fmt::format("c{}_{}", c, i), {10}, {}, 1000);
      if (i > 0)
        builder.op(op).inputs = {builder.op(previous).outputs[0], builder.op(first).outputs[0]};
      if (i == 0) first = op;
      if (i == 0 && c > 0) {
        builder.op(op).inputs.push_back(
            builder.AddOutput(last, fmt::format("bridge{}", c), bridge[c - 1]));
      }
      previous = op;
    }
    last = previous;
  }
  return builder.Build();
}

TEST_CASE("clusters stay whole: only the bridges are cut, the loads are equal") {
  ProblemBuilder builder = Gpus(4);
  const auto problem = Clusters(builder, 4, {7, 8, 9});
  for (const Placement& placement : {PlacementOf<MetisAgent>(problem),
                                     PlacementOf<ScotchAgent>(problem),
                                     PlacementOf<ContiguousAgent>(problem)}) {
    CHECK(Cut(*problem, placement) == 7 + 8 + 9);
    CHECK(Loads(*problem, placement) == std::vector<Nanos>{80, 80, 80, 80});
  }
}

TEST_CASE("partitions cut less than random placements and balance, on random graphs") {
  Rng rng(11);
  for (int trial = 0; trial < 10; ++trial) {
    CAPTURE(trial);
    ProblemBuilder builder = Gpus(3);
    for (int v = 0; v < 300; ++v) {
      std::vector<int> inputs;
      for (int i = 0; i < 2 && v > 0; ++i)
        inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 20)));
      builder.Op(
          fmt::format("op{}", v), {100 + UniformInt(rng, 100)}, inputs, UniformInt(rng, 1000));
    }
    const auto problem = builder.Build();
    std::int64_t random = 0;
    for (int i = 0; i < 10; ++i) random += Cut(*problem, DrawPlacement(*problem, rng)) / 10;
    for (const Placement& placement : {PlacementOf<MetisAgent>(problem),
                                       PlacementOf<ScotchAgent>(problem),
                                       PlacementOf<ContiguousAgent>(problem)}) {
      CHECK(Cut(*problem, placement) < random / 2);
      const std::vector<Nanos> loads = Loads(*problem, placement);
      const Nanos total = loads[0] + loads[1] + loads[2];
      for (Nanos load : loads) CHECK(3 * load < total * 1.08);
    }
  }
}

TEST_CASE("slow devices get their share, and only what they may run") {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  for (int d = 0; d < 2; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(1, kGigabytePerSecond);
  int last = builder.Op("op0", {400, 100, 100}, {}, 10);
  for (int v = 1; v < 90; ++v) {
    const bool gpu_only = v % 9 == 0;
    last = builder.Op(fmt::format("op{}", v), {gpu_only ? kMaxNanos : 400, 100, 100}, {last}, 10);
  }
  const auto problem = builder.Build();
  MetisConfig metis;
  metis.devices = "all";
  for (const Placement& placement :
       {PlacementOf<MetisAgent>(problem, metis), PlacementOf<ScotchAgent>(problem)}) {
    // Speeds 1 : 4 : 4, so that of 90 groups the CPU gets 10.
    const auto on_cpu = std::count(placement.device.begin(), placement.device.end(), 0);
    CHECK(on_cpu >= 7);
    CHECK(on_cpu <= 13);
  }
  ScotchConfig min_cut;
  min_cut.devices = "gpu";
  const Placement without_cpu = PlacementOf<ScotchAgent>(problem, min_cut);
  CHECK(std::count(without_cpu.device.begin(), without_cpu.device.end(), 0) == 0);
}

TEST_CASE("Scotch puts clusters that talk on devices that are near") {
  // gpu:0 and gpu:2 are near each other, so are gpu:1 and gpu:3; all other pairs are ten times as
  // far.
  ProblemBuilder builder;
  for (int d = 0; d < 4; ++d) builder.Device(fmt::format("gpu:{}", d));
  for (int from = 0; from < 4; ++from) {
    const int near = (from + 2) % 4;
    builder.Route(
        from, near, {builder.Channel(fmt::format("{}>{}", from, near), 1, {10'000'000'000, 1})});
  }
  builder.AllToAll(10, kGigabytePerSecond);
  const auto problem = Clusters(builder, 4, {500, 5, 500});
  const Placement placement = PlacementOf<ScotchAgent>(problem);
  CHECK(Cut(*problem, placement) == 500 + 5 + 500);
  CHECK((placement.device[0] + 2) % 4 == placement.device[8]);
  CHECK((placement.device[16] + 2) % 4 == placement.device[24]);
}

TEST_CASE(
    "few groups, weights of 0, no edges, more devices than groups: nothing upsets a partitioner") {
  const TempDir folder;
  const SilentStdout silent(folder / "stdout");
  Rng rng(13);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    ProblemBuilder builder;
    const int num_devices = 1 + UniformInt(rng, 8), num_ops = 1 + UniformInt(rng, 20);
    for (int d = 0; d < num_devices; ++d) builder.Device(fmt::format("gpu:{}", d));
    builder.AllToAll(1, kGigabytePerSecond);
    const bool edges = UniformInt(rng, 2) == 0, giant = UniformInt(rng, 2) == 0;
    for (int v = 0; v < num_ops; ++v) {
      std::vector<int> inputs;
      if (edges && v > 0) inputs.push_back(UniformInt(rng, v));
      const Nanos cost = giant && v == 0 ? 1'000'000'000'000 : UniformInt(rng, 3);
      builder.Op(fmt::format("op{}", v), {cost}, inputs, giant ? 1'000'000'000'000 : 1);
    }
    const auto problem = builder.Build();
    PlacementOf<MetisAgent>(problem);
    PlacementOf<ScotchAgent>(problem);
    PlacementOf<ContiguousAgent>(problem);
  }
  CHECK(silent.Text() == "");
}

TEST_CASE(
    "contiguous blocks: midpoints decide, parameters follow, the sweep tries every number of "
    "devices") {
  ProblemBuilder builder;
  builder.kind(builder.Device("cpu:0")).device_class = DeviceClass::kCpu;
  for (int d = 0; d < 2; ++d) builder.Device(fmt::format("gpu:{}", d));
  builder.AllToAll(1, kGigabytePerSecond);
  const int a = builder.Op("a", {30}, {}, 1);
  const int b = builder.Op("b", {30}, {a}, 1);
  const int w = builder.Op("w", {0}, {}, 100);
  const int c = builder.Op("c", {50}, {b, w}, 1);
  builder.Op("cpu_only", {1, kMaxNanos, kMaxNanos}, {c});
  const auto problem = builder.Build();
  // Total 110: a has its middle at 15, b at 45, c at 85; the first block ends at 55. "w" follows c.
  ContiguousAgent agent({problem, 1}, {});
  const SearchTrace trace = RunAgent(agent, problem, 10);
  REQUIRE(trace.placements.size() == 2);
  CHECK(trace.placements[0].device == std::vector<DeviceIndex>{1, 1, 1, 1, 0});
  CHECK(trace.placements[1].device == std::vector<DeviceIndex>{1, 1, 2, 2, 0});
}

TEST_CASE("contiguous blocks: groups without work go where their strongest neighbour went") {
  ProblemBuilder builder = Gpus(2);
  constexpr Nanos kNo = kMaxNanos;
  const int a = builder.Op("a", {30}, {}, 0);
  const int b = builder.Op("b", {30}, {}, 0);  // the second block
  // Both placed: the one it shares more bytes with, the first among equals.
  const int stronger = builder.Op("stronger", {0}, {a, b}, 0);
  builder.op(stronger).inputs.push_back(builder.AddOutput(b, "more", 5));
  const int equal = builder.Op("equal", {0}, {a, b}, 0);
  // One of them may not be followed. Its reader is reached by it a round later.
  const int not_there = builder.Op("not_there", {kNo, 0}, {a}, 7);
  const int later = builder.Op("later", {kNo, 0}, {not_there}, 0);
  const int follower = builder.Op("follower", {0}, {later}, 0);
  builder.op(later).control_inputs.push_back(stronger);
  const Placement placement = ContiguousPlacement(*builder.Build(), {0, 1});
  CHECK(placement.device[a] == 0);
  CHECK(placement.device[b] == 1);
  CHECK(placement.device[stronger] == 1);
  CHECK(placement.device[equal] == 0);
  CHECK(placement.device[not_there] == 1);
  CHECK(placement.device[later] == 1);
  CHECK(placement.device[follower] == 1);
}

TEST_CASE("contiguous blocks: the devices of each replica are cut by themselves") {
  constexpr Nanos kNo = kMaxNanos;
  ProblemBuilder builder = Gpus(4);
  std::vector<int> expected;
  for (int layer = 0; layer < 4; ++layer) {  // two chains of four layers of 10 ns, in turn
    builder.Op(fmt::format("a{}", layer), {10, 10, kNo, kNo}, {}, 0);
    builder.Op(fmt::format("b{}", layer), {kNo, kNo, 10, 10}, {}, 0);
    expected.push_back(layer / 2);
    expected.push_back(2 + layer / 2);
  }
  const Placement placement = ContiguousPlacement(*builder.Build(), {0, 1, 2, 3});
  CHECK(std::vector<int>(placement.device.begin(), placement.device.end()) == expected);
  // Devices that a group connects are cut together: six groups of 10 ns, then one on either pair.
  builder.Op("either", {10, kNo, 10, kNo}, {}, 0);
  const Placement together = ContiguousPlacement(*builder.Build(), {0, 1, 2, 3});
  CHECK(together.device.back() == 2);  // the nearest to the last block
}

}  // namespace
