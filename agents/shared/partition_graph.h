#pragma once

// The groups as partitioners want them: an undirected weighted graph in CSR with 32-bit weights,
// only of the groups that may run on the devices in question, and the repair of what a partitioner,
// which knows no constraints, decided.

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
  double mean_edge_bytes = 0;  ///< over the edges that carry bytes; 0 without any [B]

  int size() const { return static_cast<int>(group.size()); }
};

/// Sums of weights stay about this, so that no partitioner overflows 32 bits.
inline constexpr double kWeightSum = 1 << 28;

/// @param devices  mask; groups allowed on none of them are left out
PartitionGraph MakePartitionGraph(const Problem& problem, std::uint64_t devices);

/// The graph of some vertices, ascending, and the edges between them; weights as they are.
PartitionGraph Subgraph(const PartitionGraph& graph, const std::vector<int>& vertices);

/// Makes a placement of a partition: vertices whose part's device is allowed stay. The others,
/// dearest first, and then the groups that are no vertices, go to the allowed device (among
/// `devices` where there is one) with which they share the most bytes; among equals to the least
/// loaded, then the first.
/// @param part  [n] index into `devices`
Placement RepairPartition(const Problem& problem,
                          const PartitionGraph& graph,
                          const std::vector<int>& devices,
                          const std::vector<std::int32_t>& part);

/// For graphs with no more vertices than parts: the vertex that costs most goes to the fastest
/// device, the next one to the next fastest, and so on.
/// @param speeds  [num_parts]      @return [n] part of each vertex
std::vector<std::int32_t> OneVertexPerPart(const PartitionGraph& graph,
                                           const std::vector<double>& speeds);

}  // namespace emplace
