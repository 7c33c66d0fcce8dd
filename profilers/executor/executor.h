#pragma once

// Runs placements on real devices: compiles each to a plan (plan.h), runs its steps many times, and
// says what they took. To an agent it is an Evaluator like the simulator.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/evaluator.h"
#include "profilers/executor/backend.h"

namespace emplace {

/// How often each placement runs. A round is one step of every placement.
struct ExecutorOptions {
  int warmup = 2;         ///< rounds before the first that counts
  int rounds = 10;        ///< rounds whose step times count
  int traced_rounds = 3;  ///< further rounds, spread among these, that record every command's times
  DispatchMode mode = DispatchMode::kGraph;
  std::vector<int> issue_order;  ///< [num_ops] op ids, see CompilePlan(); empty: by id
  /// Called after every step with the numbers of steps done and wanted. If it returns false, the
  /// measurement ends after the round, but not before each placement has one step that counts;
  /// traces and busy times may be missing then. May be empty.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

/// What one placement took.
struct StepMeasurement {
  std::vector<Nanos> step_times;  ///< [rounds], untraced [ns]
  Timing step;                    ///< their median and its interval
  std::vector<Nanos>
      busy;  ///< [num_devices] time of ops, and of copies that occupy it, median [ns]
  /// [num_devices] ExecutionPlan::peak_bytes [B]: counted by the plan's compiler with the code
  /// that the simulator counts with, not measured on the device.
  std::vector<std::int64_t> peak;
  std::vector<std::int64_t> arena;  ///< [num_devices] ExecutionPlan::arena_bytes [B]
  std::vector<StepRecord> traces;   ///< [traced_rounds]
  std::shared_ptr<const ExecutionPlan> plan;
  double proxy_share = 0;  ///< of the ops' time: how much of it was proxies (op_work.h)
};

/// Evaluates placements of one problem by running them on a backend.
class Executor : public Evaluator {
 public:
  /// The devices of the problem's cluster are found among the backend's by name.
  /// @throws InputError if one is not there, naming it and the backend's devices; if the problem's
  /// objective is not the step time
  Executor(std::shared_ptr<const Problem> problem,
           std::shared_ptr<Backend> backend,
           ExecutorOptions options = {});

  const Problem& problem() const override { return *problem_; }
  /// Runs round after round over all placements, in an order shuffled anew each round, so that
  /// drift of the machine changes all of them alike.
  /// @param issue_orders  [num_placements] ExecutorOptions::issue_order of each; one that is empty,
  ///   or no list at all: that of the options
  /// @return [num_placements] @throws InputError for a placement of another number of groups, or as
  /// CompilePlan(); RunError as Backend::Load() and Program::Step()
  std::vector<StepMeasurement> Measure(std::span<const Placement> placements,
                                       std::span<const std::vector<int>> issue_orders = {});
  /// Measure() as outcomes: the step time is the median, op times are those of the last traced
  /// step, memory is StepMeasurement::peak.
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
