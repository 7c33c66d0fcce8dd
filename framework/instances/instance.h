#pragma once

#include <optional>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A graph with the machine that it is to be scheduled on, and what is known about its best
/// schedule. The graph's `source` tells the same to readers of its file: `optimum_ns`, or
/// `optimum_without_contention_ns`.
struct Instance {
  Graph graph;
  Cluster cluster;
  /// No placement has a shorter step, in any semantics. [ns]
  std::optional<Nanos> optimum;
  /// The optimum is that of a machine on which messages never wait for one another. Here they do,
  /// so that perhaps no placement reaches it.
  bool without_contention = false;
  /// The schedule of that optimum, as far as it is known; both empty otherwise.
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  std::vector<int> issue_order;           ///< [num_ops] op ids, for stream semantics
};

}  // namespace emplace
