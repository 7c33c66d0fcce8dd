#pragma once

// Cycles of a directed graph, for messages. Private to framework/graph.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace::internal {

/// A cycle, each vertex followed by a successor of it and the last one by the first; the least
/// vertex is the last. Empty if there is none. The same graph gives the same cycle.
/// @param successors  row v lists the vertices that v has an edge to
std::vector<int> FindCycle(const Adjacency& successors);

/// "\"a\" -> \"b\" -> \"a\"": at most five of them by name, then their number.
/// @param cycle    not empty
/// @param name_of  of a vertex
/// @param things   what the vertices are, in the plural: "ops"
std::string DescribeCycle(const std::vector<int>& cycle,
                          const std::function<std::string_view(int)>& name_of,
                          std::string_view things);

}  // namespace emplace::internal
