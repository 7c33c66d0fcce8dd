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
// evaluation allocates nothing. reference.h holds the plain implementation of the same semantics;
// tests compare the two on random problems, bit for bit. For a timeline of one step, as for
// `emplace simulate --trace`, call the plain one.

#include <memory>
#include <vector>

#include "framework/search/evaluator.h"
#include "simulator/semantics.h"

namespace emplace {

struct SimulatorOptions {
  Semantics semantics = Semantics::kQueue;
  /// Step time also counts the gaps behind the last op and transfer of every server, as the
  /// published Placeto simulator does. Start times do not change.
  bool count_gaps = false;
  /// false: peaks are left 0 and every placement is feasible. For measuring what counting memory
  /// costs.
  bool memory = true;
  /// Threads that share a batch of placements; at least 1. Never changes a result.
  int threads = 1;
  /// false: a transfer never waits for its channel, however many are on it. For measuring what
  /// contention explains of a step time.
  bool channel_contention = true;
  /// [num_ops] op ids, every op behind all that it awaits: the order in which stream semantics
  /// issues ops. Empty: by id (IssueOrder(), framework/schedule/issue_order.h). Other semantics
  /// have no issue order and refuse one.
  std::vector<int> issue_order;
  /// true: the order may be set anew (Evaluator::SetIssueOrder()), where the semantics has one.
  bool order_may_change = false;
  /// Lanes of a vector register that stream semantics may use: 16 (AVX-512), 8 (AVX2), or fewer:
  /// none. What the processor has is found at run time. Never changes a result.
  int most_lanes = 16;
};

/// Makes a simulator of any number of placements. For a problem with Objective::kPeriod it computes
/// the period instead of a step (period_engine.h), and of the options only `threads` counts.
///
/// Its Evaluate() throws InputError for a placement of the wrong size, one that puts a group on a
/// device where it may not run, or one that needs a route which the cluster lacks; a placement that
/// does not fit into memory is an outcome. It is not to be called by two threads at once.
/// @param problem  shared with the simulator
/// @throws InputError naming cluster, route and limit if a route has more hops than the semantics
///   allows (SemanticsEntry::most_hops); as RequireIssueOrder() does
std::unique_ptr<Evaluator> MakeSimulator(std::shared_ptr<const Problem> problem,
                                         const SimulatorOptions& options);

}  // namespace emplace
