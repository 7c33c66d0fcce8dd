#pragma once

// The simulator: an Evaluator on a model of the machine. It computes the step time and the peak
// memory of every device for any placement, exactly, by discrete-event simulation of one training
// step. README.md beside this header defines the result to the nanosecond and the byte; semantics.h
// lists the semantics to choose from.
//
//   const auto simulator = MakeSimulator(problem, {.semantics = Semantics::kStream});
//   const Outcome outcome = simulator->Evaluate(placement);
//   outcome.step_time;  // [ns]
//
// The data of the problem are compiled once into flat arrays (compiled_problem.h), and an
// evaluation allocates no memory. reference.h declares the plain implementation of the same
// semantics; tests compare the two on random problems, bit for bit. The plain implementation also
// makes the timeline of a step, for example for `emplace simulate --trace`.

#include <memory>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/semantics.h"

namespace emplace {

struct SimulatorOptions {
  Semantics semantics = Semantics::kQueue;
  /// True: the step time also includes the gap after the last op or transfer of every server, as in
  /// the published Placeto simulator. Start times do not change.
  bool count_gaps = false;
  /// False: peaks stay 0, every placement is feasible. For measuring the cost of counting memory.
  bool memory = true;
  /// Threads that share a batch of placements; at least 1. They never change a result.
  int threads = 1;
  /// False: a transfer never waits for its channel, however many transfers are on it. For measuring
  /// the part of a step time that contention explains.
  bool channel_contention = true;
  /// [num_ops] op ids, every op after all ops that it awaits: the order in which stream semantics
  /// issues ops. Empty: by id (IssueOrder(), framework/schedule/issue_order.h). A semantics without
  /// an issue order refuses one.
  std::vector<int> issue_order;
  /// True: Evaluator::SetIssueOrder() may replace the order, where the semantics has one.
  bool order_may_change = false;
  /// Largest number of vector lanes that stream semantics may use: 16 (AVX-512) or 8 (AVX2); a
  /// smaller number means no lanes. The processor is detected at run time. Never changes a result.
  int most_lanes = 16;
};

/// Makes a simulator for any number of placements. For a problem with Objective::kPeriod it
/// computes the period instead of a step time (period/period.h), and only `threads` matters.
///
/// Evaluate() of the simulator throws InputError for a placement of the wrong size, for a group on
/// a device where it may not run, and for a route that the cluster lacks. A placement that does not
/// fit into memory is an outcome. Two threads must not call it at once.
/// @param problem  shared with the simulator
/// @throws InputError naming cluster, route and limit if a route has more hops than the semantics
///   allows (SemanticsEntry::most_hops); as RequireIssueOrder() does
std::unique_ptr<Evaluator> MakeSimulator(std::shared_ptr<const Problem> problem,
                                         const SimulatorOptions& options);

}  // namespace emplace
