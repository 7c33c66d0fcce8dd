#pragma once

// A graph that a plan was applied to, with the origin of each of its ops.

#include <cstdint>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

enum class PlannedRole : std::uint8_t {
  kCopy,        ///< an op of the step
  kRecompute,   ///< an op of the step, once more before its backward readers
  kAccumulate,  ///< the sum of two gradients, of micro-batches or of replicas
  kCollective   ///< an all-reduce among the replicas
};

struct PlannedOp {
  PlannedRole role = PlannedRole::kCopy;
  int op = -1;  ///< of the step; kAccumulate: the producer of the gradient; kCollective: -1
  int micro_batch = -1;  ///< -1: of all micro-batches
  int replica = -1;      ///< -1: of all replicas
};

struct PlannedGraph {
  Graph graph;
  std::vector<PlannedOp> ops;  ///< [graph.num_ops()]
};

/// Returns a graph with the name, source and unknown keys of another one. Tensor::producer is not
/// read. @throws InputError as Graph
Graph GraphLike(const Graph& other, std::vector<Tensor> tensors, std::vector<Op> ops);

}  // namespace emplace
