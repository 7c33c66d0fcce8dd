#pragma once

// The compiler of plans (plan.h). It consists of these steps, each a function without side effects:
//   issued_commands.h   the commands of all streams and their dependencies by the graph
//   placed_graph.h      the graph with every received copy as a separate tensor
//   buffers.h           the buffers and the commands that use them
//   command_order.h     the waits of the commands
//   buffer_placement.h  the positions of buffers
//   initial_values.h    the memory contents before the first step
// The simulator uses the same functions of framework/schedule: IssueOrder() and CopiesOf(), and
// StreamMemory for peaks.

#include <span>

#include "framework/search/problem.h"
#include "profilers/executor/plan.h"

namespace emplace {

/// Compiles a placed graph. A view of a received copy (an alias made on another device than its
/// base) is a view of that copy there. The memory of such a copy after its last reader is counted
/// in arena_bytes, not in peak_bytes.
/// @param device_of_op  [num_ops]
/// @param issue_order   [num_ops] op ids; empty: by id. The effect of an op that writes in place is
///   visible to the ops that are issued after it.
/// @throws InputError as RequireOpOrder() does; naming op and device: an op on a device where it
///   may not run, a missing route, a device with more than one slot, an alias of storage on another
///   device that its op does not read
ExecutionPlan CompilePlan(const Problem& problem,
                          std::span<const DeviceIndex> device_of_op,
                          std::span<const int> issue_order = {});

}  // namespace emplace
