#pragma once

#include <span>

#include "framework/placement/placement.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// The plain implementation, written for reading, of the second objective (README.md, "The second
/// objective: pipelined steps"): the steady-state time between steps when many steps are in flight,
/// which is the largest load of a device,
///
///   load_d = sum of c(v, d) over the ops on d
///          + per tensor read on d and made elsewhere, once: its transfer time into d
///          + per tensor made on d and read elsewhere, once: its dearest transfer time out of d
///
/// where a transfer takes the sum over its hops of latency + wire time. Control edges are transfers
/// of 0 bytes. A device whose kind has `pays_transfers: false` counts only its ops; the device at
/// the other end still pays.
///
/// Memory is static: every tensor that is no alias on its producer's device, graph inputs on every
/// device with a reader. Received copies and workspaces do not count. Semantics, gaps, slots, host
/// costs and broadcasting have no influence.
/// @param device_of_op  [num_ops]; all routes that the placement needs are present
/// @param detail        channels may be asked for; there are no op times
/// @param outcome       out: `step_time` is the period [ns]; whatever it held before is replaced
void EvaluatePeriod(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const OutcomeDetail& detail,
                    Outcome& outcome);

}  // namespace emplace
