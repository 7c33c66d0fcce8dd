#pragma once

// Lower bounds on the step time of all placements that put every group on one of its devices in a
// mask. Branch and bound prunes with them. They are the bounds of window_bounds.h, over the delays
// of delay_graph.h and those between the ends of small segments (segments.h), and in addition:
//
//   heads     An op starts after all its ancestors. For every h, that is no earlier than h + the
//             costs of the ancestors that are on one device and start at h or later. The same holds
//             for tails. Only the 256 ops of the largest costs count.
//   channels  The maximum over the channels of the time for the items sent between groups, one
//             after another. Broadcast channels are left out.
//   devices   A group must fit on a device together with all groups that must be there, and with
//   the
//             transfers between groups that occupy the device.
//
// Only groups with one device left have a known device. The bounds are valid in every semantics and
// with every issue order. To save time, a chain of ops of one group, each awaiting only the one
// before, is treated as one op. This keeps paths, and can only lower the bound of a device.

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/one_machine.h"
#include "framework/bounds/transfer_jobs.h"
#include "framework/placement/placement.h"
#include "framework/search/problem.h"

namespace emplace {

class PartialBound {
 public:
  /// Takes well under a second on a graph of thousands of ops.
  /// @param problem  outlives this
  explicit PartialBound(const Problem& problem);
  PartialBound(const PartialBound&) = delete;
  PartialBound& operator=(const PartialBound&) = delete;

  /// @param masks  [num_groups] nonzero subsets of allowed_devices()
  /// @return no placement within the masks has a shorter step [ns]
  Nanos operator()(std::span<const std::uint64_t> masks);

  /// Returns the bound of one placement, for its steps in every order. [ns]
  Nanos OfPlacement(const Placement& placement);

  /// Returns a bound for the steps that take at most `target`.
  /// @param masks  as above; loses the devices that no placement with such a step uses
  /// @return more than `target` if no placement within the masks has such a step [ns]
  Nanos Exclude(DeviceMasks& masks, Nanos target);

 private:
  struct Edge {
    int node = 0;   // the source
    int table = 0;  // index into delays_; 0: table for ops of one group
  };
  struct Item {
    int node = 0;                   // maker of the item
    int bytes = 0;                  // index into wires_ and times_
    int first_reader = 0, end = 0;  // range in readers_, in other groups
  };

  static constexpr int kMostHeavy = 256;
  using HeavySet = std::bitset<kMostHeavy>;
  // The work of a heavy node whose group has one device left.
  struct Work {
    Nanos time = 0, cost = 0;  // head or tail, and cost divided by the slots [ns]
    Nanos sum = 0;             // of the costs up to this entry of the list [ns]
    int heavy = 0;
  };

  int num_nodes() const { return static_cast<int>(group_.size()); }
  std::span<const Edge> EdgesInto(int node) const {
    return {edges_.data() + begin_[node], edges_.data() + begin_[node + 1]};
  }
  void SetNodes(const DelayGraph& graph);
  void SetItems(std::span<const int> node_of);
  void SetHeavy();
  void AddWork(int node, int device, Nanos time);
  /// Returns the earliest time, at least `known`, at which the nodes of a set can be done.
  Nanos WorkDone(const HeavySet& set, Nanos known) const;
  /// Raises the heads of a node by the work before it, or its tails by the work after it, and adds
  /// its own work to the lists.
  /// @param set   heavy nodes before or after it; `edges` lead there
  /// @param time  [num_devices] heads or tails of the node
  void AddNode(int node, const HeavySet& set, int edges, Nanos* time, std::uint64_t mask);
  void SetFinishes(const DeviceMasks& masks);
  void SetTails(const DeviceMasks& masks);
  Nanos Paths(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Devices(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Channels(const DeviceMasks& masks);
  void AddJobs(int group, int device, std::vector<Job>& jobs) const;

  const Problem& problem_;
  int num_devices_ = 0;
  // A node is a chain of ops of one group. Nodes are in topological order.
  std::vector<int> group_;                 // [num_nodes]
  std::vector<Nanos> cost_;                // [num_nodes, num_devices]
  std::vector<Nanos> gap_;                 // [num_nodes, num_devices] after the last op of each
  std::vector<int> begin_;                 // [num_nodes + 1] into edges_
  std::vector<Edge> edges_;                // into each node
  std::vector<int> num_out_;               // [num_nodes] edges out of each
  std::vector<Nanos> delays_;              // [num_tables, num_devices, num_devices]
  std::vector<std::vector<int>> members_;  // [num_groups] nodes
  std::vector<Item> items_;
  std::vector<int> readers_;  // nodes
  std::vector<Nanos> wires_;  // [distinct bytes, num_channels] on a channel
  std::vector<Nanos> times_;  // [distinct bytes, num_devices, num_devices] of the whole transfer
  std::vector<int> heavy_;    // [num_nodes] rank by cost, from 0; -1: not heavy
  std::vector<HeavySet> before_, after_;  // [num_nodes] ancestors, descendants
  std::vector<std::vector<Work>> works_;  // [num_devices] ascending by time
  std::vector<Nanos> finish_, tail_;      // [num_nodes, num_devices]
  std::vector<Job> jobs_;
  std::vector<std::vector<Job>> fixed_;  // [num_devices]
  TransferJobs transfers_;
  DeviceMasks masks_;
};

}  // namespace emplace
