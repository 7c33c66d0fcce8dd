// Speed of every semantics' engine on random graphs (random_graphs.h). `per_op` is time per op and
// placement; "memory" computes peaks, too, as every search does. Behind the name stand ops,
// placements per call, and threads. BM_PlainPass is the yardstick: the same times in a plain loop.
// BM_SimulateGpu needs a GPU, and says so where there is none.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "simulator/gpu/gpu_simulator.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/measure_evaluator.h"
#include "tests/benchmarks/random_graphs.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Made once per size: the benchmarks of a size share it.
std::shared_ptr<const Problem> SharedProblem(int num_ops, bool neighbors = false) {
  static std::map<std::pair<int, bool>, std::shared_ptr<const Problem>> problems;
  std::shared_ptr<const Problem>& problem = problems[{num_ops, neighbors}];
  if (problem == nullptr) problem = RandomGraphProblem(num_ops, 15'000, neighbors);
  return problem;
}

// In interference semantics all devices are neighbours; without neighbours the engine is that of
// stream semantics.
void BM_Simulate(benchmark::State& state, int num_ops, Semantics semantics, bool memory) {
  const auto problem = SharedProblem(num_ops, CountsNeighbors(semantics));
  const auto threads = static_cast<int>(state.range(1));
  const auto simulator =
      MakeSimulator(problem, {.semantics = semantics, .memory = memory, .threads = threads});
  MeasureEvaluator(state, *simulator, VariedPlacements(*problem), state.range(0));
}

// The same with lanes of eight, as on a processor without AVX-512.
void BM_SimulateEightLanes(benchmark::State& state, bool memory) {
  const auto problem = SharedProblem(static_cast<int>(state.range(0)));
  const auto simulator =
      MakeSimulator(problem, {.semantics = Semantics::kStream, .memory = memory, .most_lanes = 8});
  MeasureEvaluator(state, *simulator, VariedPlacements(*problem), 64);
}
BENCHMARK_CAPTURE(BM_SimulateEightLanes, stream, false)->Arg(1000)->Arg(10000)->Arg(100000);
BENCHMARK_CAPTURE(BM_SimulateEightLanes, stream_memory, true)->Arg(1000)->Arg(10000)->Arg(100000);

// All neighbours of a placement by one move, in one call. `per_move` is time per neighbour.
void BM_Neighbors(benchmark::State& state, Semantics semantics, bool memory, int most_lanes) {
  const auto problem = SharedProblem(static_cast<int>(state.range(0)));
  const auto simulator =
      MakeSimulator(problem, {.semantics = semantics, .memory = memory, .most_lanes = most_lanes});
  const Placement base = VariedPlacements(*problem)[0];
  std::vector<int> begin{0};
  std::vector<Move> moves;
  for (int group = 0; group < problem->num_groups(); ++group) {
    for (int d = 0; d < problem->num_devices(); ++d) {
      if (d == base.device[group]) continue;
      moves.push_back({group, static_cast<DeviceIndex>(d)});
      begin.push_back(static_cast<int>(moves.size()));
    }
  }
  std::vector<Nanos> step_time(moves.size());
  std::vector<std::int64_t> deficit(moves.size());
  for (auto _ : state) {
    simulator->EvaluateNeighbors({base, begin, moves},
                                 {.step_time = step_time, .deficit = deficit});
    benchmark::DoNotOptimize(step_time.data());
  }
  state.counters["per_move"] =
      benchmark::Counter(static_cast<double>(state.iterations() * moves.size()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_Neighbors, stream, Semantics::kStream, false, 16)->Arg(1000);
BENCHMARK_CAPTURE(BM_Neighbors, stream_memory, Semantics::kStream, true, 16)->Arg(1000);
BENCHMARK_CAPTURE(BM_Neighbors, stream_eight_lanes, Semantics::kStream, false, 8)->Arg(1000);
BENCHMARK_CAPTURE(BM_Neighbors, stream_memory_eight_lanes, Semantics::kStream, true, 8)->Arg(1000);
BENCHMARK_CAPTURE(BM_Neighbors, queue, Semantics::kQueue, false, 16)->Arg(1000);
BENCHMARK_CAPTURE(BM_Neighbors, queue_memory, Semantics::kQueue, true, 16)->Arg(1000);

void BM_PlainPass(benchmark::State& state) {
  const auto problem = SharedProblem(static_cast<int>(state.range(0)));
  MeasurePlainPass(state, problem, VariedPlacements(*problem));
}

// Neighbours of one placement, as many per call as the first argument says: the GPU gets a few
// bytes of each. `rows`: whole placements are copied to it.
void BM_SimulateGpu(benchmark::State& state, int num_ops, bool memory, bool rows) {
  if (const std::string reason = WhyNoGpu(0); !reason.empty()) {
    state.SkipWithError(reason.c_str());
    return;
  }
  const auto problem = SharedProblem(num_ops);
  const auto simulator =
      MakeGpuSimulator(problem, {.semantics = Semantics::kStream, .memory = memory}, 0);
  const std::vector<Placement> placements = VariedPlacements(*problem);
  const auto batch = static_cast<size_t>(state.range(0));
  const int num_groups = problem->num_groups();
  std::vector<Nanos> step_time(batch);
  std::vector<std::int64_t> deficit(memory ? batch : 0);
  const OutcomeColumns columns{.step_time = step_time, .deficit = deficit};
  if (rows) {
    std::vector<DeviceIndex> device;
    for (size_t i = 0; i < batch; ++i) {
      const auto& placement = placements[i % placements.size()].device;
      device.insert(device.end(), placement.begin(), placement.end());
    }
    for (auto _ : state) {
      simulator->EvaluateRows({device.data(), batch, static_cast<size_t>(num_groups)}, columns);
    }
  } else {
    std::vector<int> begin{0};
    std::vector<Move> moves;
    for (size_t i = 0; i < batch; ++i) {
      for (int m = 0; m < 8; ++m) {
        const auto group = static_cast<int>((i * 8 + m) * 7919 % num_groups);
        moves.push_back({group, placements[i % placements.size()].device[group]});
      }
      begin.push_back(static_cast<int>(moves.size()));
    }
    for (auto _ : state) {
      simulator->EvaluateNeighbors({placements[0], begin, moves}, columns);
    }
  }
  CountPlacements(state, batch, problem->num_ops());
}

BENCHMARK(BM_PlainPass)->Arg(1000)->Arg(10000)->Arg(100000);

// BM_SimulateGpu/neighbors/1000, BM_SimulateGpu/rows_memory/1000, ...
[[maybe_unused]] const bool kSimulateGpuRegistered = [] {
  for (const bool rows : {false, true}) {
    for (const bool memory : {false, true}) {
      for (const int ops : {1000, 10000}) {
        const std::string name = std::string("BM_SimulateGpu/") + (rows ? "rows" : "neighbors") +
                                 (memory ? "_memory/" : "/") + std::to_string(ops);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& s) { BM_SimulateGpu(s, ops, memory, rows); })
            ->ArgName("batch")
            ->Arg(1 << 12)
            ->Arg(rows ? 1 << 16 : 1 << 18)
            ->UseRealTime();
      }
    }
  }
  return true;
}();

// BM_Simulate/queue/1000, BM_Simulate/queue_memory/1000, ...
[[maybe_unused]] const bool kSimulateRegistered = [] {
  for (const Semantics semantics : AllSemantics()) {
    for (const bool memory : {false, true}) {
      for (const int ops : {1000, 10000, 100000}) {
        RegisterBatches("BM_Simulate/" + std::string(ToString(semantics)) +
                            (memory ? "_memory/" : "/") + std::to_string(ops),
                        [=](benchmark::State& s) { BM_Simulate(s, ops, semantics, memory); });
      }
    }
  }
  return true;
}();

}  // namespace
