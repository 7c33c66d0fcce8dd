#pragma once

// Runs placements on real devices. It compiles each placement to a plan (plan.h), runs its steps
// many times, and reports their times. To an agent it is an Evaluator like the simulator.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/evaluator.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// The number of runs of each placement. A round is one step of every placement.
struct ExecutorOptions {
  int warmup = 2;         ///< rounds before the first that is measured
  int rounds = 10;        ///< rounds whose step times are measured
  int traced_rounds = 3;  ///< additional rounds, spread evenly, that record every command's times
  DispatchMode mode = DispatchMode::kGraph;
  std::vector<int> issue_order;  ///< [num_ops] op ids, see CompilePlan(); empty: by id
  /// Called after every step with the number of steps done and the total. If it returns false, the
  /// measurement ends after the round, but not before each placement has one measured step; traces
  /// and busy times may be missing then. May be empty.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct StepMeasurement {
  std::vector<Nanos> step_times;  ///< [rounds], untraced [ns]
  Timing step;                    ///< median of the step times and its interval
  std::vector<Nanos>
      busy;  ///< [num_devices] time of ops, and of copies that occupy it, median [ns]
  /// [num_devices] ExecutionPlan::peak_bytes [B]. The compiler of the plan counts them with the
  /// code of the simulator; they are not measured on the device.
  std::vector<std::int64_t> peak;
  std::vector<std::int64_t> arena;  ///< [num_devices] ExecutionPlan::arena_bytes [B]
  std::vector<StepRecord> traces;   ///< [traced_rounds]
  std::shared_ptr<const ExecutionPlan> plan;
  double proxy_share = 0;  ///< share of the ops' time that proxies took (op_work.h)
};

class Executor : public Evaluator {
 public:
  /// Finds the devices of the problem's cluster among those of the backend by name.
  /// @throws InputError if a device is missing, naming it and the backend's devices; if the
  ///   problem's objective is not the step time
  Executor(std::shared_ptr<const Problem> problem,
           std::shared_ptr<Backend> backend,
           ExecutorOptions options = {});

  const Problem& problem() const override { return *problem_; }
  /// Runs rounds over all placements. The order is shuffled again in each round, so that drift of
  /// the machine affects all placements equally.
  /// @param issue_orders  [num_placements] ExecutorOptions::issue_order of each placement; for an
  ///   empty one, or without a list, that of the options
  /// @return [num_placements]
  /// @throws InputError for a placement with another number of groups, or as CompilePlan()
  /// @throws RunError as Backend::Load() and Program::Step()
  std::vector<StepMeasurement> Measure(std::span<const Placement> placements,
                                       std::span<const std::vector<int>> issue_orders = {});
  /// Writes the results of Measure() as outcomes. The step time is the median, op times are those
  /// of the last traced step, and memory is StepMeasurement::peak.
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
