#pragma once

#include <span>

#include "framework/search/evaluator.h"

namespace emplace {

/// The second objective, steady-state throughput of pipelined steps: the largest load of a device,
///
///   load_d = sum of c(v, d) over the ops on d
///          + per tensor read on d and made elsewhere, once: its transfer time into d
///          + per tensor made on d and read elsewhere, once: its dearest transfer time out of d
///
/// where a transfer takes the sum over its hops of latency + wire. A kind with `pays_transfers:
/// false` counts only its ops; its partners still pay. Memory is static: every tensor with a
/// producer (aliases count nothing) on the producer's device; graph inputs where they are read.
/// Control edges are transfers of 0 bytes.
/// @param device_of_op  [num_ops], routes present
void EvaluatePeriod(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const OutcomeDetail& detail,
                    Outcome& outcome);

}  // namespace emplace
