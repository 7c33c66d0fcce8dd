#pragma once

#include <memory>
#include <span>

#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Evaluates the second objective by the plain implementation, written for reading (README.md, "The
/// second objective: pipelined steps"). The objective is the steady-state time between steps when
/// many steps are in flight, which is the largest load of a device:
///
///   load_d = sum of c(v, d) over the ops on d
///          + per tensor read on d and made elsewhere, once: its transfer time into d
///          + per tensor made on d and read elsewhere, once: its longest transfer time out of d
///
/// where a transfer takes the sum over its hops of latency + wire time. Control edges are transfers
/// of 0 bytes. A device whose kind has `pays_transfers: false` counts only its ops; the device at
/// the other end still pays.
///
/// Memory is static: every tensor without alias_of on its producer's device, graph inputs on every
/// device with a reader. Received copies and workspaces do not count. Semantics, gaps, slots, host
/// costs and broadcasting have no influence.
/// @param device_of_op  [num_ops] with every route that the placement needs
/// @param detail        may request channels; there are no op times
/// @param outcome       out: all fields are replaced; `step_time` is the period [ns]
void EvaluatePeriod(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const OutcomeDetail& detail,
                    Outcome& outcome);

/// Makes the evaluator of a problem with Objective::kPeriod by the fast implementation. It refuses
/// the same placements as MakeSimulator() (simulator.h), which returns it for such problems.
/// @param threads  threads that share a batch, at least 1; they never change a result
std::unique_ptr<Evaluator> MakePeriodEvaluator(std::shared_ptr<const Problem> problem, int threads);

}  // namespace emplace
