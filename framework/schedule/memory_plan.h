#pragma once

// The memory of a tensor under a placement, by the rules of simulator/README.md, "Memory", that
// hold in every semantics. The functions handle one tensor or graph at a time and are written for
// clarity. compiled_graph.h gives the same results for a whole graph, for engines.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// Returns true for a tensor that is in memory for the whole step: one without producer (a graph
/// input), or one of role parameter, buffer or optimizer_state.
bool IsResident(const Tensor& tensor);

/// Returns true for a tensor that keeps its buffer (StorageOf) until the end of the step: one of
/// role output, or a resident one.
bool IsNeverReleased(const Tensor& tensor);

/// The buffer in which a tensor lives.
struct Storage {
  int root = 0;    ///< tensor id; the buffer is its own one or its received copy
  int device = 0;  ///< device index; -1: every device that reads it (a graph input)
};

/// Returns the buffer in which a tensor lives. A tensor that is not an alias has its own buffer, on
/// its producer's device. An alias made on the device of its root lives in the root's buffer. An
/// alias made on another device lives in the copy of the root received there, if some op there
/// reads the root; else in the root's own buffer on the root's device.
/// @param device_of_op  [num_ops]
/// @param tensor        tensor id
Storage StorageOf(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor);

/// Returns the bytes resident for the whole step: parameters, buffers and optimiser state on their
/// producer's device, graph inputs on every device with a reader. Aliases do not count.
/// @param device_of_op  [num_ops], each less than num_devices
/// @return [num_devices] [B]
std::vector<std::int64_t> ResidentBytes(const Graph& graph,
                                        int num_devices,
                                        std::span<const DeviceIndex> device_of_op);

}  // namespace emplace
