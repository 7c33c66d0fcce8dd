// What messages between ranks cost, and evaluations over them. Under mpirun only:
//
//   mpirun -n 2 build/release/emplace_bench --benchmark_filter=Ranks
//
// Every rank makes the same number of iterations; scripts/ranks_scaling runs this for several
// numbers of ranks and keeps what rank 0 says.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "framework/ranks/mpi_module.h"
#include "framework/search/distributed_evaluator.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/measure_evaluator.h"
#include "tests/benchmarks/random_graphs.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Joined once; left when the program ends.
Communicator& Ranks() {
  static const std::unique_ptr<Communicator> ranks = JoinLaunchedRanks();
  return *ranks;
}

void BM_RanksAllGather(benchmark::State& state) {
  const std::vector<std::byte> mine(static_cast<std::size_t>(state.range(0)));
  Ranks().AllGather({});  // all begin at the same time
  for (auto _ : state) benchmark::DoNotOptimize(Ranks().AllGather(mine).bytes.data());
}

void BM_RanksBroadcast(benchmark::State& state) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)));
  Ranks().AllGather({});  // all begin at the same time
  for (auto _ : state) Ranks().Broadcast(bytes);
}

// evaluate(evaluator, outcomes) of state.range(0) placements, again and again: shared out to the
// ranks, step times and deficits wanted, one thread a rank.
template <class Evaluate>
void MeasureOverRanks(benchmark::State& state,
                      const std::shared_ptr<const Problem>& problem,
                      const Evaluate& evaluate) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
  std::vector<Nanos> step_time(batch);
  std::vector<std::int64_t> deficit(batch);
  const OutcomeColumns outcomes{.step_time = step_time, .deficit = deficit};
  ReplicatedSearch replicated(Ranks());
  DistributedEvaluator evaluator(*simulator, replicated);
  replicated.Begin(0, true);
  for (auto _ : state) evaluate(evaluator, outcomes);
  replicated.End("done");
  CountPlacements(state, batch, problem->num_ops());
}

// Whole placements, on a graph of 10,000 ops.
void BM_RanksRows(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const auto problem = RandomGraphProblem(10'000);
  const auto groups = static_cast<std::size_t>(problem->num_groups());
  const std::vector<Placement> pool = VariedPlacements(*problem);
  std::vector<DeviceIndex> rows;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto& device = pool[i % pool.size()].device;
    rows.insert(rows.end(), device.begin(), device.end());
  }
  MeasureOverRanks(state, problem, [&](Evaluator& evaluator, const OutcomeColumns& outcomes) {
    evaluator.EvaluateRows({rows.data(), batch, groups}, outcomes);
  });
}

// Single moves from one placement.
void BM_RanksMoves(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const auto problem = RandomGraphProblem(10'000);
  const auto groups = static_cast<std::size_t>(problem->num_groups());
  const Placement base = VariedPlacements(*problem).front();
  std::vector<int> begin{0};
  std::vector<Move> moves;
  for (std::size_t i = 0; i < batch; ++i) {
    const int group = static_cast<int>(i * 7919 % groups);
    moves.push_back({group, static_cast<DeviceIndex>((base.device[group] + 1) % 4)});
    begin.push_back(static_cast<int>(i) + 1);
  }
  MeasureOverRanks(state, problem, [&](Evaluator& evaluator, const OutcomeColumns& outcomes) {
    evaluator.EvaluateNeighbors({base, begin, moves}, outcomes);
  });
}

[[maybe_unused]] const bool kRegistered = [] {
  if (LaunchedRanks() == 0) return false;
  const auto add = [](const char* name, void (*run)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(name, run)->UseRealTime();
  };
  for (const int bytes : {8, 512, 4096, 32'768, 262'144, 2'097'152}) {
    const int iterations = bytes > 100'000 ? 200 : 2000;
    add("RanksAllGather", BM_RanksAllGather)->Arg(bytes)->Iterations(iterations);
    add("RanksBroadcast", BM_RanksBroadcast)->Arg(bytes)->Iterations(iterations);
  }
  for (const int batch : {64, 256, 1024}) {
    add("RanksRows", BM_RanksRows)->Arg(batch)->Iterations(20'480 / batch);
    add("RanksMoves", BM_RanksMoves)->Arg(batch)->Iterations(20'480 / batch);
  }
  return true;
}();

}  // namespace
