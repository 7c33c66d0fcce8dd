#pragma once

// A graph that a plan was applied to, with the origin of each of its ops.

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/cluster/cluster.h"
#include "framework/graph/graph.h"

namespace emplace {

enum class PlannedRole : std::uint8_t {
  kCopy,        ///< an op of the step
  kRecompute,   ///< an op of the step, once more before its backward readers
  kAccumulate,  ///< the sum of two gradients, of micro-batches or of replicas
  kCollective   ///< among the replicas, or among the ranks of a replica
};

struct PlannedOp {
  PlannedRole role = PlannedRole::kCopy;
  /// Of the step; kAccumulate: the producer of the gradient; kCollective: -1 among replicas.
  int op = -1;
  int micro_batch = -1;  ///< -1: of all micro-batches
  int replica = -1;      ///< -1: of all replicas
  int rank_group = -1;   ///< kCollective among ranks: number of their group; else -1
};

struct PlannedGraph {
  Graph graph;
  std::vector<PlannedOp> ops;  ///< [graph.num_ops()]
};

struct PlannedStep {
  PlannedGraph planned;
  std::shared_ptr<const Cluster> cluster;
};

/// Returns a graph with the name, source, ranks and unknown keys of another one. Tensor::producer
/// is not read. @throws InputError as Graph
Graph GraphLike(const Graph& other, std::vector<Tensor> tensors, std::vector<Op> ops);

}  // namespace emplace
