#pragma once

#include <optional>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A graph with its machine, and the known facts about its best schedule. Readers of the graph's
/// file find them in its `source`, as `optimum_ns` or `optimum_without_contention_ns`.
struct Instance {
  Graph graph;
  Cluster cluster;
  /// No placement has a shorter step, in any semantics. [ns]
  std::optional<Nanos> optimum;
  /// The optimum is that of a machine on which messages never wait for one another. Here they do,
  /// so it may be that no placement reaches it.
  bool without_contention = false;
  /// A schedule with that optimum; both are empty if none is known.
  std::vector<DeviceIndex> device_of_op;  ///< [num_ops]
  std::vector<int> issue_order;           ///< [num_ops] op ids, for stream semantics
};

}  // namespace emplace
