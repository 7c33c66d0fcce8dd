#pragma once

// Placements on real devices: compiles each, runs it many times, says what it took.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/evaluator.h"
#include "profilers/executor/backend.h"

namespace emplace {

struct ExecutorOptions {
  int warmup = 2;         ///< steps before the first that counts
  int rounds = 10;        ///< steps per placement, one per round, all placements in every round
  int traced_rounds = 3;  ///< further rounds, spread among these, with the times of every command
  DispatchMode mode = DispatchMode::kGraph;
  MemoryReuse reuse = MemoryReuse::kNoWaits;
  /// Called after every step with how many of how many are done; returning false ends the
  /// measurement after the round, though not before each placement has one step that counts (what
  /// was not traced then has no traces and no busy times). May be empty.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

/// What one placement took.
struct StepMeasurement {
  std::vector<Nanos> step_times;    ///< [rounds], untraced [ns]
  Timing step;                      ///< their median and its interval
  std::vector<Nanos> busy;          ///< [num_devices] ops' time in traced steps, median [ns]
  std::vector<std::int64_t> peak;   ///< [num_devices] ExecutionPlan::peak_bytes [B]
  std::vector<std::int64_t> arena;  ///< [num_devices] ExecutionPlan::arena_bytes [B]
  std::vector<StepRecord> traces;   ///< [traced_rounds]
  std::shared_ptr<const ExecutionPlan> plan;
  double proxy_share = 0;  ///< of the ops' time that ran on stand-in kernels
};

class Executor : public Evaluator {
 public:
  /// The cluster's devices are found among the backend's by name.
  /// @throws InputError if a device of the problem's cluster is none of the backend's, with
  /// choices; if the objective is not the step time
  Executor(std::shared_ptr<const Problem> problem,
           std::shared_ptr<Backend> backend,
           ExecutorOptions options = {});

  const Problem& problem() const override { return *problem_; }
  /// Interleaved: round after round over all placements, in an order shuffled anew each round, so
  /// that drift of the machine hits all alike. @throws RunError, InputError as CompilePlan
  std::vector<StepMeasurement> Measure(std::span<const Placement> placements);
  /// Measure() as outcomes: step time is the median, op times are those of the last traced step.
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;

 private:
  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<Backend> backend_;
  ExecutorOptions options_;
};

}  // namespace emplace
