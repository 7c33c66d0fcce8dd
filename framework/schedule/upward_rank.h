#pragma once

#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/cost/costs.h"
#include "framework/graph/graph.h"

namespace emplace {

/// Computes the length of the longest path from each op to the end, with mean costs and transfers:
///
///   rank(v) = w(v) + max over the ops r that await an item i of v of (t(i) + rank(r))
///
/// w is the mean of the op's costs over the devices where it may run. t is the mean of
/// Cluster::TransferTime() over all ordered pairs of different devices with a route (0 if there are
/// none). Both are rounded to the nearest integer, halves up. An op without successors has rank w.
/// simulator/README.md, "Issue order", defines the rank. With these ranks as priorities,
/// IssueOrder() gives the order of `priority: upward_rank`.
///
/// Source: the upward rank of HEFT (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, section 4.1), in
/// integers.
/// @return [num_ops] [ns]; at most kMaxNanos
std::vector<Nanos> IntegerUpwardRanks(const Graph& graph,
                                      const Cluster& cluster,
                                      const Costs& costs);

}  // namespace emplace
