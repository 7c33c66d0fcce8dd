#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Where an alias lives: the storage (root tensor, device) that it shares. On the root's own device
/// that is the root's buffer. On another device it is the received copy of the root if some op
/// there reads the root, else the root's own buffer at home.
struct Storage {
  int root = 0;    ///< tensor id
  int device = 0;  ///< device index, or -1: on every device that reads it (a graph input)
};
Storage StorageOf(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor);

/// Bytes resident for the whole step on each device: parameters, buffers and optimiser state at
/// their producer, graph inputs on every device with a reader. Aliases count nothing. @return
/// [num_devices] [B]
std::vector<std::int64_t> ResidentBytes(const Graph& graph,
                                        int num_devices,
                                        std::span<const DeviceIndex> device_of_op);

/// True for a tensor that is resident by role or for want of a producer.
bool IsResident(const Tensor& tensor);

}  // namespace emplace
