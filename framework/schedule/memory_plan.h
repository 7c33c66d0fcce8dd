#pragma once

// Which memory a tensor takes under a placement: the rules of simulator/README.md, "Memory", that
// hold in every semantics, for one tensor or graph at a time and written for reading. The engines
// get the same answers for a whole graph from compiled_graph.h.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"
#include "framework/placement/placement.h"

namespace emplace {

/// True for a tensor that is in memory for the whole step: one without producer (a graph input),
/// and one of role parameter, buffer or optimizer_state.
bool IsResident(const Tensor& tensor);

/// True for a tensor that keeps the buffer in which it lives (StorageOf) to the end of the step:
/// one of role output, or a resident one.
bool IsNeverReleased(const Tensor& tensor);

/// The buffer in which a tensor lives.
struct Storage {
  int root = 0;    ///< tensor id: whose own buffer, or whose received copy, it is
  int device = 0;  ///< device index, or -1: on every device that reads it (a graph input)
};

/// Where a tensor lives. One that is no alias: in its own buffer, on its producer's device. An
/// alias made on the device of its root: in the root's buffer. An alias made on another device: in
/// the root's copy that was received there if some op there reads the root, else in the root's own
/// buffer on the root's device.
/// @param device_of_op  [num_ops]
/// @param tensor        tensor id
Storage StorageOf(const Graph& graph, std::span<const DeviceIndex> device_of_op, int tensor);

/// Bytes resident for the whole step: parameters, buffers and optimiser state on their producer's
/// device, graph inputs on every device with a reader. Aliases count nothing.
/// @param device_of_op  [num_ops], each less than num_devices
/// @return [num_devices] [B]
std::vector<std::int64_t> ResidentBytes(const Graph& graph,
                                        int num_devices,
                                        std::span<const DeviceIndex> device_of_op);

}  // namespace emplace
