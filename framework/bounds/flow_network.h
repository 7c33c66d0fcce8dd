#pragma once

// Maximum flows and minimum cuts, by Dinic's algorithm (E. A. Dinic, Soviet Mathematics Doklady 11,
// 1970).

#include <cstddef>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// A directed network with capacities, which may change between flows.
class FlowNetwork {
 public:
  static constexpr Nanos kUnbounded = Nanos{1} << 61;  ///< more than any flow

  explicit FlowNetwork(int num_nodes) : arcs_of_(num_nodes) {}
  int num_nodes() const { return static_cast<int>(arcs_of_.size()); }
  int num_arcs() const { return static_cast<int>(arcs_.size() / 2); }

  /// Adds a node and returns its index.
  int AddNode();
  /// Adds an arc and returns its index.
  int AddArc(int from, int to, Nanos capacity);
  void SetCapacity(int arc, Nanos capacity) { capacity_[arc] = capacity; }

  /// Returns the maximum flow, or `most` if it is not smaller. @pre source != sink
  Nanos Flow(int source, int sink, Nanos most = kUnbounded);
  /// Returns whether a node is on the source's side of the minimum cut of the last flow, which was
  /// less than `most`. Of several minimum cuts, it is the one with the fewest such nodes.
  bool IsInside(int node) const { return depth_[node] >= 0; }

 private:
  struct Arc {
    int to;
    Nanos left;
  };

  bool Layer(int source, int sink);
  Nanos Push(int node, int sink, Nanos most);

  std::vector<std::vector<int>> arcs_of_;  // [num_nodes] indices of arcs_
  std::vector<Arc> arcs_;                  // 2 i is arc i, 2 i + 1 its reverse
  std::vector<Nanos> capacity_;            // [num_arcs]
  std::vector<int> depth_, queue_;
  std::vector<std::size_t> next_;
};

}  // namespace emplace
