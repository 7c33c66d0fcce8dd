// Speed of every semantics' engine: one thread, 4 devices, a pool of *varied* placements (the
// branch predictor learns one repeated placement, which gives too good a figure). In the graphs
// each op reads one or two tensors of recent ops. `per_op` is time per op and placement; "memory"
// computes peaks, too, as every search does.

#include <algorithm>
#include <string>

#include <benchmark/benchmark.h>

#include "simulator/simulator.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr int kPoolSize = 64;

std::shared_ptr<const Problem> BenchmarkProblem(int num_ops) {
  Rng rng(7);
  ProblemBuilder b;
  for (int d = 0; d < 4; ++d) b.Device("d" + std::to_string(d), std::int64_t{1} << 40);
  b.AllToAll(15'000, {10'000'000'000, 1});
  for (int v = 0; v < num_ops; ++v) {
    std::vector<int> inputs;
    if (v > 0) inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 8)));
    if (v > 1 && Uniform01(rng) < 0.5) inputs.push_back(std::max(0, v - 1 - UniformInt(rng, 200)));
    std::vector<Nanos> costs;
    for (int d = 0; d < 4; ++d) costs.push_back(1'000 + UniformInt(rng, 100'000));
    b.Op("op" + std::to_string(v), costs, inputs, 1 + UniformInt(rng, 1'000'000));
  }
  return b.Build();
}

// Placements as a search makes them: half uniform, half blocks with a few ops elsewhere.
std::vector<Placement> Pool(const Problem& problem) {
  Rng rng(8);
  std::vector<Placement> pool;
  for (int i = 0; i < kPoolSize; ++i) {
    Placement placement = RandomPlacement(rng, problem);
    if (i % 2 == 0) {
      const int blocks = 1 + UniformInt(rng, 8), offset = UniformInt(rng, 4);
      for (int v = 0; v < problem.num_groups(); ++v) {
        if (Uniform01(rng) < 0.05) continue;
        const auto block = static_cast<std::int64_t>(v) * blocks / problem.num_groups();
        placement.device[v] = static_cast<DeviceIndex>((block + offset) % 4);
      }
    }
    pool.push_back(std::move(placement));
  }
  return pool;
}

void BM_Simulate(benchmark::State& state, Semantics semantics, bool memory) {
  const auto problem = BenchmarkProblem(static_cast<int>(state.range(0)));
  const auto simulator = MakeSimulator(problem, {.semantics = semantics, .memory = memory});
  const std::vector<Placement> pool = Pool(*problem);
  std::vector<Outcome> outcomes(pool.size());
  for (auto _ : state) {
    simulator->Evaluate(pool, outcomes);
    benchmark::DoNotOptimize(outcomes.data());
  }
  const auto placements = static_cast<double>(state.iterations() * pool.size());
  state.counters["placements/s"] = benchmark::Counter(placements, benchmark::Counter::kIsRate);
  state.counters["per_op"] = benchmark::Counter(
      placements * problem->num_ops(), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// BM_Simulate/queue, BM_Simulate/queue_memory, ...
[[maybe_unused]] const bool kSimulateRegistered = [] {
  for (const Semantics semantics : AllSemantics()) {
    for (const bool memory : {false, true}) {
      const std::string name = std::string(ToString(semantics)) + (memory ? "_memory" : "");
      benchmark::RegisterBenchmark(("BM_Simulate/" + name).c_str(), BM_Simulate, semantics, memory)
          ->Arg(1000)
          ->Arg(10000);
    }
  }
  return true;
}();

}  // namespace
