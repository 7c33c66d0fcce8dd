#pragma once

#include <optional>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A graph with the machine that it is to be scheduled on, and what is known about its best
/// schedule. The graph's `source` tells the same to readers of its file, with the key `optimum_ns`
/// where there is an optimum.
struct Instance {
  Graph graph;
  Cluster cluster;
  /// Of the step time; what it is the optimum of is told by the function that made the instance.
  /// [ns]
  std::optional<Nanos> optimum;
  /// The schedule of that optimum, as far as it is known; both empty otherwise.
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  std::vector<int> issue_order;           ///< [num_ops] op ids, for stream semantics
};

}  // namespace emplace
