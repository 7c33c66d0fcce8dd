#pragma once

// Lower bounds on the step time of all placements that put every group on one of some devices: what
// branch and bound prunes with. They are those of window_bounds.h, over the delays of delay_graph.h
// and those between the ends of small segments (segments.h), and in addition
//
//   heads     an op starts when all ops that lead to it are done: no earlier than h + the costs of
//             those of them that are on one device and start at h or later, for every h. Tails
//             likewise. Of the 256 ops of the largest costs.
//   channels  max over channels of what the items need there one after another that go from one
//             group to another; broadcast channels count nothing
//   devices   a group needs a device together with all groups that have no other choice
//
// where only groups with one device left are known to be somewhere. Valid in every semantics and
// with every issue order. Ops of a group that are a chain, each awaiting only the one before, count
// as one, so that a bound takes less time: paths stay as they are, and one job in place of two can
// only lessen what a device needs.

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/one_machine.h"
#include "framework/search/problem.h"

namespace emplace {

class PartialBound {
 public:
  /// Takes well under a second on a graph of thousands of ops.
  /// @param problem  outlives this
  explicit PartialBound(const Problem& problem);
  PartialBound(const PartialBound&) = delete;
  PartialBound& operator=(const PartialBound&) = delete;

  /// @param masks  [num_groups] devices that each group may have: a part of allowed_devices(), not
  ///   0
  /// @return no placement within the masks has a shorter step [ns]
  Nanos operator()(std::span<const std::uint64_t> masks);

  /// Of the steps that take at most `target`.
  /// @param masks  as above; those devices go that no placement with such a step uses
  /// @return more than `target` if no placement within the masks has such a step [ns]
  Nanos Exclude(DeviceMasks& masks, Nanos target);

 private:
  struct Edge {
    int node = 0;   // the source
    int table = 0;  // into delays_; 0: of one group
  };
  struct Item {
    int node = 0;                   // that makes it
    int bytes = 0;                  // index into wires_ and times_
    int first_reader = 0, end = 0;  // into readers_, of other groups
  };

  static constexpr int kMostHeavy = 256;
  using HeavySet = std::bitset<kMostHeavy>;
  // Of a heavy node whose group has one device left.
  struct Work {
    Nanos time = 0, cost = 0;  // its head or tail, and its cost shared by all slots [ns]
    Nanos sum = 0;             // of its cost and those before it in the list [ns]
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
  /// When the nodes of a set are done on their devices, at the earliest; `known` if that is later.
  Nanos WorkDone(const HeavySet& set, Nanos known) const;
  /// Raises the heads of a node by the work before it, or its tails by the work behind it, and
  /// lists its own.
  /// @param set   heavy nodes before or behind it; `edges` lead there
  /// @param time  [num_devices] its heads or tails
  void AddNode(int node, const HeavySet& set, int edges, Nanos* time, std::uint64_t mask);
  void SetFinishes(const DeviceMasks& masks);
  void SetTails(const DeviceMasks& masks);
  Nanos Paths(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Devices(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Channels(const DeviceMasks& masks);
  void AddJobs(int group, int device, std::vector<Job>& jobs) const;

  const Problem& problem_;
  int num_devices_ = 0;
  // A node is a chain of ops of one group; in topological order.
  std::vector<int> group_;                 // [num_nodes]
  std::vector<Nanos> cost_;                // [num_nodes, num_devices]
  std::vector<int> begin_;                 // [num_nodes + 1] into edges_
  std::vector<Edge> edges_;                // into each node
  std::vector<int> num_out_;               // [num_nodes] edges out of each
  std::vector<Nanos> delays_;              // [num_tables, num_devices, num_devices]
  std::vector<std::vector<int>> members_;  // [num_groups] nodes
  std::vector<Item> items_;
  std::vector<int> readers_;  // nodes
  std::vector<Nanos> wires_;  // [distinct bytes, num_channels] on a channel
  std::vector<Nanos> times_;  // [distinct bytes, num_devices, num_devices] of the whole transfer
  std::vector<int> heavy_;    // [num_nodes] from 0 by cost; -1: not heavy
  std::vector<HeavySet> before_, after_;  // [num_nodes] ancestors, descendants
  std::vector<std::vector<Work>> works_;  // [num_devices] ascending by time
  std::vector<Nanos> finish_, tail_;      // [num_nodes, num_devices]
  std::vector<Job> jobs_;
  std::vector<std::vector<Job>> fixed_;         // [num_devices]
  std::vector<std::vector<Job>> channel_jobs_;  // [num_channels]
  DeviceMasks masks_;
};

}  // namespace emplace
