#pragma once

// The groups as input of a partitioner: an undirected weighted graph in CSR format with 32-bit
// weights, restricted to the groups that may run on the given devices. Partitioners know no
// constraints; RepairPartition() moves the groups that are then on forbidden devices.

#include <cstdint>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct PartitionGraph {
  std::vector<int> group;    ///< [n] vertex -> group of the problem
  std::vector<double> cost;  ///< [n] mean cost over the devices it is allowed on [ns]
  /// [n] `cost` scaled; >= 1, sum about kWeightSum at most
  std::vector<std::int32_t> vertex_weight;
  std::vector<std::int32_t> offsets;    ///< [n + 1]
  std::vector<std::int32_t> neighbors;  ///< [offsets[n]] vertices, each edge in both directions
  /// [offsets[n]] bytes scaled; >= 1, sum about kWeightSum at most
  std::vector<std::int32_t> edge_weight;
  double mean_edge_bytes = 0;  ///< over the edges that carry bytes; 0 if there are none [B]

  int size() const { return static_cast<int>(group.size()); }
};

/// Approximate upper limit of the sums of weights, so that no partitioner overflows 32 bits.
inline constexpr double kWeightSum = 1 << 28;

/// @param devices  mask; groups allowed on none of them are omitted
PartitionGraph MakePartitionGraph(const Problem& problem, std::uint64_t devices);

/// Returns the subgraph induced by some vertices (ascending). Weights are not rescaled.
PartitionGraph Subgraph(const PartitionGraph& graph, const std::vector<int>& vertices);

/// Converts a partition into a placement. Vertices keep the device of their part if they are
/// allowed on it. The others, in descending order of cost, and then the groups that are not
/// vertices, go to the candidate device (see Candidates() in devices.h) with which they share the
/// most bytes; ties go to the least loaded device, then to the least index.
/// @param part  [n] index into `devices`
Placement RepairPartition(const Problem& problem,
                          const PartitionGraph& graph,
                          const std::vector<int>& devices,
                          const std::vector<std::int32_t>& part);

/// For graphs with at most as many vertices as parts: assigns the most expensive vertex to the
/// fastest device, the next one to the next fastest, and so on.
/// @param speeds  [num_parts]      @return [n] part of each vertex
std::vector<std::int32_t> OneVertexPerPart(const PartitionGraph& graph,
                                           const std::vector<double>& speeds);

}  // namespace emplace
