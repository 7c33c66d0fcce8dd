// What a run on a committed graph costs: reading it, compiling and simulating it. Placements are
// varied: contiguous blocks with a tenth of the groups elsewhere.

#include <algorithm>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "framework/base/random.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_io.h"
#include "framework/bounds/bounds.h"
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
      ReadCluster(SourceDir() / "configs" / "clusters" / "4xk80.yaml",
                  ReadDeviceKinds(SourceDir() / "configs" / "device_kinds")));
  return std::make_shared<Problem>(graph,
                                   ColocateByLabel(*graph, Grouping::Identity(graph->num_ops())),
                                   cluster,
                                   ComputeCosts(*graph, *cluster));
}

void BM_ReadGraph(benchmark::State& state, const std::string& name) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReadGraph(GraphPath(name)).num_ops());
  }
}

void BM_SimulateGraph(benchmark::State& state,
                      const std::string& name,
                      Semantics semantics,
                      bool memory) {
  const auto problem = CommittedProblem(name);
  const auto threads = static_cast<int>(state.range(1));
  const auto simulator =
      MakeSimulator(problem, {.semantics = semantics, .memory = memory, .threads = threads});
  Rng rng(3);
  std::vector<Placement> pool(64);
  for (Placement& placement : pool) {
    placement.device.resize(problem->num_groups());
    const int offset = UniformInt(rng, 4);
    for (int i = 0; i < problem->num_groups(); ++i) {
      const int block = static_cast<int>(std::int64_t{i} * 4 / problem->num_groups());
      const int device = Uniform01(rng) < 0.1 ? UniformInt(rng, 4) : (block + offset) % 4;
      placement.device[problem->group_order()[i]] = static_cast<DeviceIndex>(1 + device);
    }
  }
  MeasureEvaluator(state, *simulator, pool, state.range(0));
}

void BM_ComputeCosts(benchmark::State& state, const std::string& name) {
  const Graph graph = ReadGraph(GraphPath(name));
  const Cluster cluster = ReadCluster(SourceDir() / "configs" / "clusters" / "post_8xk80.yaml",
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
  return true;
}();
BENCHMARK_CAPTURE(BM_ComputeCosts, nmt, std::string("nmt"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Bounds, nmt, std::string("nmt"))->Unit(benchmark::kMillisecond);

}  // namespace
