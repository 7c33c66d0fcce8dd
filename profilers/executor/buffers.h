#pragma once

// The buffers of a program and the accesses of its commands. A buffer is the own storage of a
// tensor, a received copy, the workspace of an op, or the staging of a copy between two hops.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "profilers/executor/issued_commands.h"
#include "profilers/executor/placed_graph.h"

namespace emplace {

struct Buffer {
  int device = 0;  ///< or kStaging
  std::int64_t bytes = 0;
  /// The buffer keeps its content in all steps. This holds for tensors that are never released
  /// (IsNeverReleased()) and for tensors that no kernel fills.
  bool pinned = false;
  std::vector<int> users;  ///< commands, ascending; the first one fills it
};

struct BufferAccess {
  int buffer = 0;
  bool writes = false;
};

/// By index of the buffer.
struct OpBuffers {
  std::vector<int> inputs, outputs;  ///< as many as the op's
};
struct CopyBuffers {
  int source = -1;  ///< -1: the copy moves no data
  TensorView layout;
  std::vector<int> destinations;
};

struct ProgramBuffers {
  std::vector<Buffer> buffers;
  std::vector<std::vector<BufferAccess>> accesses;  ///< [num_commands] by kernels and copies
  std::vector<OpBuffers> ops;                       ///< [num_ops]
  std::vector<CopyBuffers> copies;                  ///< [num_commands]
  /// (tensor of the placed graph, device) -> buffer, for tensors that are not aliases.
  std::map<std::pair<int, int>, int> of_tensor;
};

/// @param device_of_op  [num_ops]
/// @param order         [num_ops] in which the commands were issued
/// @param ops           [num_ops] their work in the placed graph; addresses are not needed
/// @throws InputError naming op, tensor and devices for storage on another device than its op
ProgramBuffers FindBuffers(const Problem& problem,
                           std::span<const DeviceIndex> device_of_op,
                           std::span<const int> order,
                           const IssuedCommands& issued,
                           const PlacedGraph& placed,
                           std::span<const CompiledOp> ops);

}  // namespace emplace
