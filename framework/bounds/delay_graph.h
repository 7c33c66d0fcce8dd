#pragma once

// The dependencies of a problem as delays that depend on the devices of both ends. An edge from op
// u to op v has a table W[s, d]: if u is on device s and v on d, v starts no earlier than W[s, d]
// after the finish of u. This holds in every schedule of every placement, in every semantics and
// with every issue order. There are two kinds of edges:
//
//   of the graph  v awaits an item of u: W[s, s] = 0, and W[s, d] = T(s, d, bytes) of the largest
//                 such item, the time of a transfer on idle channels (Cluster::TransferTime);
//                 kMaxNanos if u and v share a group and s != d
//   added         a proven lower bound on the time of the ops between u and v (segments.h)
//
// Ops are numbered by their positions in the graph's topological order, so every edge leads from a
// smaller number to a larger one.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

/// The devices that each group may have, a subset of Problem::allowed_devices(). [num_groups]
using DeviceMasks = std::vector<std::uint64_t>;
/// Returns Problem::allowed_devices() of all groups.
DeviceMasks AllowedDevices(const Problem& problem);

/// Raises the start of the target of an edge: start[d] becomes at least the minimum of finish[s] +
/// delays[s, d] over the devices s in the source's mask, for each d in the target's mask.
inline void RaiseStart(std::span<const Nanos> delays,
                       std::uint64_t source_mask,
                       const Nanos* finish,
                       std::uint64_t target_mask,
                       Nanos* start,
                       int num_devices) {
  for (std::uint64_t targets = target_mask; targets; targets &= targets - 1) {
    const int d = std::countr_zero(targets);
    Nanos least = kMaxNanos;
    for (std::uint64_t sources = source_mask; sources; sources &= sources - 1) {
      const int s = std::countr_zero(sources);
      least = std::min(least, finish[s] + delays[size_t(s) * num_devices + d]);
    }
    start[d] = std::max(start[d], least);
  }
}

/// Raises the tail of the source of an edge: tail[s] becomes at least the minimum of delays[s, d] +
/// rest[d] over the devices d in the target's mask, for each s in the source's mask. `rest` is the
/// cost plus the tail of the target.
inline void RaiseTail(std::span<const Nanos> delays,
                      std::uint64_t target_mask,
                      const Nanos* rest,
                      std::uint64_t source_mask,
                      Nanos* tail,
                      int num_devices) {
  for (std::uint64_t sources = source_mask; sources; sources &= sources - 1) {
    const int s = std::countr_zero(sources);
    Nanos least = kMaxNanos;
    for (std::uint64_t targets = target_mask; targets; targets &= targets - 1) {
      const int d = std::countr_zero(targets);
      least = std::min(least, delays[size_t(s) * num_devices + d] + rest[d]);
    }
    tail[s] = std::max(tail[s], least);
  }
}

class DelayGraph {
 public:
  struct Edge {
    int op;     ///< number of the op at the other end
    int table;  ///< index of its delays: delays(table)
  };

  /// @param problem  outlives this
  explicit DelayGraph(const Problem& problem);

  const Problem& problem() const { return problem_; }
  int num_ops() const { return static_cast<int>(group_.size()); }
  int num_devices() const { return num_devices_; }
  int group(int op) const { return group_[op]; }
  /// [num_devices] cost of an op; kMaxNanos where its group may not run. [ns]
  std::span<const Nanos> cost(int op) const {
    return {&cost_[size_t(op) * num_devices_], size_t(num_devices_)};
  }
  /// [num_devices, num_devices] by the source's and the target's device; kMaxNanos: never. [ns]
  std::span<const Nanos> delays(int table) const {
    const size_t size = size_t(num_devices_) * num_devices_;
    return {&delays_[table * size], size};
  }
  /// Returns the bytes of the transfer that the table describes; -1 if it describes none. [B]
  std::int64_t bytes(int table) const { return bytes_[table]; }
  /// Returns the edges of the graph into an op.
  std::span<const Edge> edges_into(int op) const {
    return {edges_.data() + begin_[op], edges_.data() + begin_[op + 1]};
  }
  /// Returns the edges into an op that were added by Add().
  std::span<const Edge> added_into(int op) const { return added_[op]; }

  /// Adds an edge. @param delays  [num_devices, num_devices] [ns]
  void Add(int from, int to, std::span<const Nanos> delays);

  /// Sets finish[op, d] for each device d: the earliest finish of an op after all that it awaits,
  /// if each group is on one of its devices in `masks`; kMaxNanos where it may not run.
  /// @param masks   [num_groups], a subset of allowed_devices()
  /// @param finish  [num_ops, num_devices], already set for all earlier ops [ns]
  void SetFinish(int op, std::span<const std::uint64_t> masks, std::span<Nanos> finish) const;

  /// Computes the longest paths from the beginning and to the end, within the masks.
  /// @param finish  [num_ops, num_devices] out: as SetFinish(), of all ops
  /// @param tail    [num_ops, num_devices] out: the least time from there to the end of the step
  void SetPaths(std::span<const std::uint64_t> masks,
                std::vector<Nanos>& finish,
                std::vector<Nanos>& tail) const;

 private:
  const Problem& problem_;
  int num_devices_ = 0;
  std::vector<int> group_;   // [num_ops]
  std::vector<Nanos> cost_;  // [num_ops, num_devices]
  std::vector<int> begin_;   // [num_ops + 1]
  std::vector<Edge> edges_;
  std::vector<std::vector<Edge>> added_;  // [num_ops]
  std::vector<std::int64_t> bytes_;       // [num_tables]
  std::vector<Nanos> delays_;             // [num_tables, num_devices, num_devices]
};

}  // namespace emplace
