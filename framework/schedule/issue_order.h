#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// Returns the fixed order in which the host issues ops in stream semantics. Repeatedly, it takes
/// the ops whose predecessors have all been issued, and issues the one of highest priority; of
/// equals, the one of least id. The simulator and the executor's plan both call this function. The
/// order depends only on graph and priorities, not on a placement. upward_rank.h computes
/// priorities.
/// @param priority  [num_ops]; empty: equal for all
/// @return [num_ops] op ids
std::vector<int> IssueOrder(const Graph& graph, std::span<const std::int64_t> priority = {});

}  // namespace emplace
