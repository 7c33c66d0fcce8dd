#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Stands in the place of a tensor id for the control edges of an op, which cross as one item of 0
/// bytes. Greater than every tensor id, so that control sorts behind all tensors.
inline constexpr int kControlTensor = 0x7fffffff;

/// One tensor, or the control edges of one op, on the way to devices that wait for it.
struct Copy {
  int producer = 0;               ///< op id
  int tensor = 0;                 ///< tensor id or kControlTensor
  std::int64_t bytes = 0;         ///< [B]; 0 for control
  int source = 0;                 ///< device of the producer
  std::vector<int> destinations;  ///< devices, ascending; several only over a broadcast channel
};

/// The copies that op `producer` sends, in the order in which they are made. It is the same in
/// every semantics and in the executor: by tensor id, control last, then by least destination. A
/// tensor crosses once to each device with a reader, however many readers there are. Destinations
/// whose routes begin with the same broadcast channel share one copy.
/// @param device_of_op  [num_ops]
/// @throws InputError naming op, tensor and both devices if a needed route is missing
std::vector<Copy> CopiesOf(const Graph& graph,
                           const Cluster& cluster,
                           std::span<const DeviceIndex> device_of_op,
                           int producer);

/// One hop of a copy: over one channel of its route.
struct Hop {
  int copy = 0;                   ///< index of the copy
  int position = 0;               ///< of the channel on the route, from 0
  int channel = 0;                ///< channel index
  std::vector<int> destinations;  ///< of the copy, those that lie this way; a first hop serves all
  int behind = -1;                ///< the hop before it on the way, by index; -1: it is the first
};

/// The hops of the copies that one op sends, in the order in which stream semantics and the
/// executor issue them: by tensor id, control last, then by destination, each followed by the
/// further hops on its way. What several destinations share goes with the least of them.
std::vector<Hop> HopsOf(const Cluster& cluster, std::span<const Copy> copies);

/// Whether ops on a device find a tensor without a copy: a graph input, or made there.
/// @param device_of_op  [num_ops]
bool IsLocal(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor, int device);

/// The tensors that an op reads cold (simulator/README.md, "Cold reads"): made on another device
/// than its own, and read on its own by no op of less id. Ascending.
/// @param device_of_op  [num_ops]
std::vector<int> ColdReads(const Graph& graph, std::span<const DeviceIndex> device_of_op, int op);

}  // namespace emplace
