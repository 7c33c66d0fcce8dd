#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// The fixed order in which S semantics issues ops: repeatedly the available op (all predecessors
/// issued) of highest priority, least op id on ties. Simulator and executor call this same
/// function.
/// @param priority  [num_ops], or empty: equal for all
/// @return [num_ops] op ids
std::vector<int> IssueOrder(const Graph& graph, std::span<const std::int64_t> priority = {});

}  // namespace emplace
