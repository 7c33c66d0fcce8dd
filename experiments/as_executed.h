#pragma once

#include "framework/cluster/cluster.h"
#include "simulator/semantics.h"

namespace emplace {

/// The semantics to compare with executed steps: devices and channels are in-order streams, which
/// slow one another down where the cluster has neighbours. Held-out steps of cost files, and so the
/// intervals of simulated times, are in these semantics.
inline Semantics SemanticsAsExecuted(const Cluster& cluster) {
  return cluster.has_neighbors() ? Semantics::kInterference : Semantics::kStream;
}

/// Whether a simulation counts by itself what neighbours cost: then costs must be without it
/// (CostSources::apart).
inline bool CountsNeighbors(Semantics semantics) {
  return semantics == Semantics::kInterference;
}

}  // namespace emplace
