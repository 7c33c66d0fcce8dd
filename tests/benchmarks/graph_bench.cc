// What a run on a committed graph costs: reading it, compiling and simulating it. Placements are
// varied: contiguous blocks with a tenth of the groups elsewhere. BM_PlainPassGraph is the
// yardstick: the same placements in a plain loop, as if each pair of devices had a channel of its
// own.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "framework/base/random.h"
#include "framework/bounds/bounds.h"
#include "framework/cluster/cluster.h"
#include "framework/cluster/cluster_io.h"
#include "framework/config/config_node.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_io.h"
#include "framework/search/costed_problem.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/measure_evaluator.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::filesystem::path GraphPath(const std::string& name) {
  return SourceDir() / "configs" / "graphs" / (name + ".json.gz");
}

std::shared_ptr<const Problem> CommittedProblem(const std::string& name) {
  const auto graph = std::make_shared<Graph>(ReadGraph(GraphPath(name)));
  const auto cluster = std::make_shared<Cluster>(
      ParseCluster(ConfigNode::FromFile(SourceDir() / "configs" / "clusters" / "4xk80.yaml"),
                   ReadDeviceKinds(SourceDir() / "configs" / "device_kinds")));
  return CostedProblem(graph, cluster, "bench")
      .WithGroups(ColocateByLabel(*graph, Grouping::Identity(graph->num_ops())));
}

void BM_ReadGraph(benchmark::State& state, const std::string& name) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReadGraph(GraphPath(name)).num_ops());
  }
}

std::vector<Placement> BlockPlacements(const Problem& problem) {
  Rng rng(3);
  std::vector<Placement> placements(64);
  for (Placement& placement : placements) {
    placement.device.resize(problem.num_groups());
    const int offset = UniformInt(rng, 4);
    for (int i = 0; i < problem.num_groups(); ++i) {
      const int block = static_cast<int>(std::int64_t{i} * 4 / problem.num_groups());
      const int device = Uniform01(rng) < 0.1 ? UniformInt(rng, 4) : (block + offset) % 4;
      placement.device[problem.group_order()[i]] = static_cast<DeviceIndex>(1 + device);
    }
  }
  return placements;
}

void BM_SimulateGraph(benchmark::State& state,
                      const std::string& name,
                      Semantics semantics,
                      bool memory,
                      int most_lanes = 16) {
  const auto problem = CommittedProblem(name);
  const auto threads = static_cast<int>(state.range(1));
  const auto simulator = MakeSimulator(
      problem,
      {.semantics = semantics, .memory = memory, .threads = threads, .most_lanes = most_lanes});
  MeasureEvaluator(state, *simulator, BlockPlacements(*problem), state.range(0));
}

void BM_PlainPassGraph(benchmark::State& state, const std::string& name) {
  const auto problem = CommittedProblem(name);
  const Cluster& cluster = problem->cluster();
  const int num_devices = cluster.num_devices();
  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(size_t(num_devices) * num_devices);
  for (int from = 0; from < num_devices; ++from) {
    for (int to = 0; to < num_devices; ++to) {
      if (from == to) continue;
      routes[from * num_devices + to] = {static_cast<int>(channels.size())};
      channels.push_back({.name = std::to_string(channels.size()),
                          .latency = 20'000,
                          .bandwidth = {7'000'000'000, 1}});
    }
  }
  const auto pairs = std::make_shared<Cluster>(
      "pairs",
      std::vector<DeviceKind>(cluster.kinds().begin(), cluster.kinds().end()),
      std::vector<Device>(cluster.devices().begin(), cluster.devices().end()),
      channels,
      routes);
  const auto graph = std::make_shared<Graph>(problem->graph());
  const auto single = std::make_shared<Problem>(
      graph, Grouping::Identity(graph->num_ops()), pairs, problem->costs());
  std::vector<Placement> placements = BlockPlacements(*problem);
  for (Placement& placement : placements) {
    placement.device = ExpandPlacement(placement, problem->grouping());
  }
  MeasurePlainPass(state, single, placements);
}
BENCHMARK_CAPTURE(BM_PlainPassGraph, inception_v3, std::string("inception_v3"));
BENCHMARK_CAPTURE(BM_PlainPassGraph, nmt, std::string("nmt"));
BENCHMARK_CAPTURE(BM_PlainPassGraph, gpt2_small_torch, std::string("gpt2_small_torch"));

void BM_ComputeCosts(benchmark::State& state, const std::string& name) {
  const Graph graph = ReadGraph(GraphPath(name));
  const Cluster cluster =
      ParseCluster(ConfigNode::FromFile(SourceDir() / "configs" / "clusters" / "post_8xk80.yaml"),
                   ReadDeviceKinds(SourceDir() / "configs" / "device_kinds"));
  for (auto _ : state) benchmark::DoNotOptimize(ComputeCosts(graph, cluster).num_ops);
}

void BM_Bounds(benchmark::State& state, const std::string& name) {
  const auto problem = CommittedProblem(name);
  for (auto _ : state) benchmark::DoNotOptimize(ComputeBounds(*problem).best());
}

BENCHMARK_CAPTURE(BM_ReadGraph, nmt, std::string("nmt"))->Unit(benchmark::kMillisecond);
// BM_SimulateGraph/queue/inception_v3, BM_SimulateGraph/queue_memory/inception_v3, ...
[[maybe_unused]] const bool kSimulateGraphRegistered = [] {
  for (const Semantics semantics : AllSemantics()) {
    for (const bool memory : {false, true}) {
      for (const std::string graph : {"inception_v3", "nmt", "gpt2_small_torch"}) {
        RegisterBatches(
            "BM_SimulateGraph/" + std::string(ToString(semantics)) + (memory ? "_memory/" : "/") +
                graph,
            [=](benchmark::State& s) { BM_SimulateGraph(s, graph, semantics, memory); });
      }
    }
  }
  // The same with lanes of eight, as on a processor without AVX-512.
  for (const bool memory : {false, true}) {
    for (const std::string graph : {"inception_v3", "nmt", "gpt2_small_torch"}) {
      RegisterBatches(
          std::string("BM_SimulateGraph/stream_eight_lanes") + (memory ? "_memory/" : "/") + graph,
          [=](benchmark::State& s) { BM_SimulateGraph(s, graph, Semantics::kStream, memory, 8); });
    }
  }
  return true;
}();
BENCHMARK_CAPTURE(BM_ComputeCosts, nmt, std::string("nmt"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Bounds, nmt, std::string("nmt"))->Unit(benchmark::kMillisecond);

}  // namespace
