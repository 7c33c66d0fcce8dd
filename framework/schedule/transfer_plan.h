#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Replaces the tensor id for the control edges of an op, which cross as one item of 0 bytes.
/// Larger than every tensor id, so that control sorts after all tensors.
inline constexpr int kControlTensor = 0x7fffffff;

/// A transfer of one tensor, or of the control edges of one op, to devices that wait for it.
struct Copy {
  int producer = 0;               ///< op id
  int tensor = 0;                 ///< tensor id or kControlTensor
  std::int64_t bytes = 0;         ///< [B]; 0 for control
  int source = 0;                 ///< device of the producer
  std::vector<int> destinations;  ///< devices, ascending; several only over a broadcast channel
};

/// Returns the copies that op `producer` sends, in the order in which they are made: by tensor id,
/// control last, then by least destination. The order is the same in every semantics and in the
/// executor. A tensor crosses once to each device with a reader, for any number of readers there.
/// Destinations whose routes begin with the same broadcast channel share one copy.
/// @param device_of_op  [num_ops]
/// @throws InputError naming op, tensor and both devices if a needed route is missing
std::vector<Copy> CopiesOf(const Graph& graph,
                           const Cluster& cluster,
                           std::span<const DeviceIndex> device_of_op,
                           int producer);

/// One hop of a copy, over one channel of its route.
struct Hop {
  int copy = 0;                   ///< index of the copy
  int position = 0;               ///< of the channel on the route, from 0
  int channel = 0;                ///< channel index
  std::vector<int> destinations;  ///< of the copy that this hop serves; a first hop serves all
  int behind = -1;                ///< index of the preceding hop on the route; -1: it is the first
};

/// Returns the hops of the copies that one op sends, in the order in which stream semantics and the
/// executor issue them: by tensor id, control last, then by destination. Each first hop is followed
/// by the further hops on its route. Hops shared by several destinations are sorted by the least.
std::vector<Hop> HopsOf(const Cluster& cluster, std::span<const Copy> copies);

/// Returns whether ops on a device can read a tensor without a copy, as a graph input or made
/// there.
/// @param device_of_op  [num_ops]
bool IsLocal(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor, int device);

/// Returns the tensors that an op reads cold (simulator/README.md, "Cold reads"), ascending. They
/// are made on another device, and no op of less id reads them on the op's device.
/// @param device_of_op  [num_ops]
std::vector<int> ColdReads(const Graph& graph, std::span<const DeviceIndex> device_of_op, int op);

}  // namespace emplace
