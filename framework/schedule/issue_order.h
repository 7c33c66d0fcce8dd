#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// The fixed order in which the host issues ops in stream semantics: repeatedly, of the ops whose
/// predecessors have all been issued, the one of highest priority, and of equals the one of least
/// id. The simulator and the executor's plan both call this function. The order depends on graph
/// and priorities alone, not on a placement. Priorities by upward rank: upward_rank.h.
/// @param priority  [num_ops], or empty: equal for all
/// @return [num_ops] op ids
std::vector<int> IssueOrder(const Graph& graph, std::span<const std::int64_t> priority = {});

}  // namespace emplace
