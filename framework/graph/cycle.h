#pragma once

// Finds cycles of a directed graph, for messages. Private to framework/graph.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace::internal {

/// Returns a cycle: each vertex is followed by one of its successors, and the last by the first.
/// The least vertex is the last. Empty if there is no cycle. Deterministic.
/// @param successors  row v lists the targets of the edges from v
std::vector<int> FindCycle(const Adjacency& successors);

/// Returns "\"a\" -> \"b\" -> \"a\"". Names at most five vertices, and then states their number.
/// @param cycle    not empty
/// @param name_of  name of a vertex
/// @param things   noun for the vertices, in the plural: "ops"
std::string DescribeCycle(const std::vector<int>& cycle,
                          const std::function<std::string_view(int)>& name_of,
                          std::string_view things);

}  // namespace emplace::internal
