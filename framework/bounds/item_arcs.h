#pragma once

// The items of a period problem as arcs of a flow network. A minimum cut then counts the time of
// each item with groups on both sides (E. Lawler, Cutsets and partitions of hypergraphs, Networks
// 3, 1973).

#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/flow_network.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// An item whose transfers take time.
struct ItemArc {
  int arc;     ///< of the network
  Nanos time;  ///< > 0, the least between two devices [ns]
};

/// Adds two nodes and an arc of its time for each item whose transfers take time.
/// @param network  whose first nodes are the groups
std::vector<ItemArc> AddItems(const CompiledPeriod& problem, FlowNetwork& network);

}  // namespace emplace
