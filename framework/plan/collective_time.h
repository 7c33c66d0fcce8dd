#pragma once

// The time of a collective over the channels of a cluster, for machines without measured
// collectives. It is that of the fastest algorithm, as communication libraries choose one by
// machine and size (Thakur, Rabenseifner, Gropp, Optimization of collective communication
// operations in MPICH, 2005; NVIDIA, NCCL user guide, environment variable NCCL_ALGO):
//
//   ring        n - 1 rounds, 2 (n - 1) of an all-reduce. Every member sends a part of
//               ceil(bytes / n) to the next one; of an all-to-all, in round s to the s-th next one.
//   rings       k rings at once, without common channels, each with a k-th of the bytes: parts of
//               ceil(bytes / (k n)).
//   tree        All-reduce: 2 ceil(log2 n) rounds. Sums of all bytes go to the first member along a
//               binomial tree, and back.
//   two_levels  All-reduce, all-gather and reduce-scatter between N nodes of g > 1 members each:
//               rings of a node's members with parts of ceil(bytes / g) at the beginning (reduce)
//               and at the end (gather), rings of the members of equal place in their nodes with
//               parts of ceil(bytes / n) in between.
//
// All transfers of a round begin at once, and the next round begins when all have arrived. A
// transfer takes, for each channel of its route, the latency, and the wire times of all transfers
// of the round over the channel. Other traffic does not slow it down. Larger tensors never take
// less time.
//
// Rings. A hop is the time of 1 MiB on its own from one member to another. The ring begins with the
// first member and has the least slowest hop that is found: by bisection of all hops, with a search
// in depth that tries nearest members first (equal ones in their order) and appends at most 1,000
// members. Without such a ring, members have the given order. Each further ring is the one that is
// found without the channels of those before, at most 8 in all; the number that takes the least
// time counts.
//
// Nodes. Two members are in one node if both hops between them take at most half of the slowest
// hop; and if both are in one node with a third one. Nodes and their members have the given order.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// Returns "all_gather", "all_reduce", "all_to_all", "reduce_scatter".
const std::vector<std::string>& CollectiveNames();

/// Returns the nodes of some devices, as described above. Empty if there are no devices.
/// @return [nodes] places in `devices`, ascending
std::vector<std::vector<int>> FindNodes(const Cluster& cluster, std::span<const int> devices);

struct AlgorithmTime {
  std::string_view algorithm;  ///< "ring", "rings", "tree" or "two_levels"
  Nanos time = 0;              ///< [ns]
};

/// The collectives of some devices.
class CollectiveTimes {
 public:
  /// @param cluster  outlives this
  /// @param members  distinct device indices
  CollectiveTimes(const Cluster& cluster, std::vector<int> members);

  /// Returns the algorithms for a collective, at least one, with their times, in the order of
  /// above. Those that the collective lacks, or that need a route which the cluster lacks, are left
  /// out. One member takes no time.
  /// @param name   of CollectiveNames()
  /// @param bytes  of the tensor; of an all-gather its output, of a reduce-scatter its input [B]
  /// @throws InputError naming two members without a route; a collective that takes kMaxNanos
  std::vector<AlgorithmTime> Of(std::string_view name, std::int64_t bytes) const;

  /// Returns the least time of Of() [ns]. @throws InputError as Of()
  Nanos Least(std::string_view name, std::int64_t bytes) const;

 private:
  class Rounds;
  int Count() const { return static_cast<int>(members_.size()); }
  [[noreturn]] void Refuse(std::string_view name, std::int64_t bytes) const;

  const Cluster& cluster_;
  std::vector<int> members_;
  // Of places in members_.
  std::vector<std::vector<int>> nodes_, rings_;
};

}  // namespace emplace
