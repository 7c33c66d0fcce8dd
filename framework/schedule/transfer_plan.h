#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Stands for "the control edge of an op" where a tensor id is expected; sorts behind every tensor.
inline constexpr int kControlTensor = 0x7fffffff;

/// One copy of a tensor (or control edge) to the devices that read it.
struct Copy {
  int producer = 0;               ///< op
  int tensor = 0;                 ///< tensor id or kControlTensor
  std::int64_t bytes = 0;         ///< [B]; 0 for control
  int source = 0;                 ///< device
  std::vector<int> destinations;  ///< ascending; several only over a broadcast channel
};

/// The copies that follow op `producer` in the order both semantics and the executor share: its
/// outputs in tensor-id order, control last, destinations in device order; a tensor crosses once
/// per destination, over a broadcast first hop once for all destinations behind it (the copy then
/// stands at its least destination).
/// @throws InputError naming op, tensor and both devices if a needed route is missing
std::vector<Copy> CopiesOf(const Graph& graph,
                           const Cluster& cluster,
                           std::span<const DeviceIndex> device_of_op,
                           int producer);

}  // namespace emplace
