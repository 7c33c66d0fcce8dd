#pragma once

// What the benchmarks of evaluators share.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "framework/base/time.h"
#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"
#include "tests/benchmarks/plain_pass.h"

namespace emplace::testing {

/// Sets the counters `placements/s` and `per_op`, the time per op and placement.
/// @param placements  evaluated per iteration
inline void CountPlacements(benchmark::State& state, std::size_t placements, int num_ops) {
  using benchmark::Counter;
  const auto total = static_cast<double>(state.iterations() * placements);
  state.counters["placements/s"] = Counter(total, Counter::kIsRate);
  state.counters["per_op"] = Counter(total * num_ops, Counter::kIsRate | Counter::kInvert);
}

/// Evaluates `pool` over and over, `batch` placements per call; one call is an iteration.
/// @param batch  divides the size of the pool
inline void MeasureEvaluator(benchmark::State& state,
                             Evaluator& evaluator,
                             std::span<const Placement> pool,
                             std::size_t batch) {
  std::vector<Outcome> outcomes(batch);
  std::size_t next = 0;
  for (auto _ : state) {
    evaluator.Evaluate(pool.subspan(next, batch), outcomes);
    benchmark::DoNotOptimize(outcomes.data());
    next = (next + batch) % pool.size();
  }
  CountPlacements(state, batch, evaluator.problem().num_ops());
}

/// The yardstick: stream semantics' step times of `pool` over and over, found by PlainPass. Ends
/// the program if one of them is not the simulator's.
/// @param problem  one that PlainPass can do
inline void MeasurePlainPass(benchmark::State& state,
                             const std::shared_ptr<const Problem>& problem,
                             std::span<const Placement> pool) {
  PlainPass plain(*problem);
  const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream, .memory = false});
  for (const Placement& placement : pool) {
    const Nanos expected = simulator->Evaluate(placement).step_time;
    const Nanos step_time = plain.StepTime(placement);
    if (step_time == expected) continue;
    std::fprintf(stderr,
                 "plain pass: step time %lld ns, the simulator's is %lld ns\n",
                 static_cast<long long>(step_time),
                 static_cast<long long>(expected));
    std::abort();
  }
  for (auto _ : state) {
    for (const Placement& placement : pool) {
      benchmark::DoNotOptimize(plain.StepTime(placement));
    }
  }
  CountPlacements(state, pool.size(), problem->num_ops());
}

/// Registers a benchmark with the arguments placements per call, and threads; on two threads the
/// clock on the wall counts.
inline void RegisterBatches(const std::string& name,
                            const std::function<void(benchmark::State&)>& run) {
  const auto add = [&] {
    return benchmark::RegisterBenchmark(name.c_str(), run)->ArgNames({"batch", "threads"});
  };
  add()->Args({1, 1})->Args({64, 1});
  add()->Args({64, 2})->UseRealTime();
}

}  // namespace emplace::testing
