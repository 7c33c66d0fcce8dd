#pragma once

// The dependencies of a problem as delays that depend on the devices of both ends. An edge from op
// u to op v with the table W[s, d] says: if u is on device s and v on d, v starts no earlier than
// W[s, d] after the finish of u. It holds in every schedule of every placement, in every semantics
// and with every issue order:
//
//   from the graph   v awaits something of u: W[s, s] = 0, and W[s, d] = T(s, d, bytes) of the
//                    largest item, the time of the transfer when alone (Cluster::TransferTime);
//                    never, if u and v share a group and s != d
//   added            whatever was proved about what must run between u and v (segments.h)
//
// Ops are named by their places in the graph's topological order, so that every edge leads from a
// lesser place to a greater one.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

/// Devices that each group may have, a part of Problem::allowed_devices(). [num_groups]
using DeviceMasks = std::vector<std::uint64_t>;
/// All that each group may have.
DeviceMasks AllowedDevices(const Problem& problem);

/// How an edge raises the start of its target: start[d] is at least the least of finish[s] +
/// delays[s, d] over the devices s that the source may have, for each d that the target may have.
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

/// How it raises the tail of its source: tail[s] is at least the least of delays[s, d] + rest[d],
/// the cost and the tail of the target on d.
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
    int op;     ///< the place of the other end
    int table;  ///< its delays: delays(table)
  };

  /// @param problem  outlives this
  explicit DelayGraph(const Problem& problem);

  const Problem& problem() const { return problem_; }
  int num_ops() const { return static_cast<int>(group_.size()); }
  int num_devices() const { return num_devices_; }
  int group(int op) const { return group_[op]; }
  /// [num_devices] cost of an op; kMaxNanos where its group may not be. [ns]
  std::span<const Nanos> cost(int op) const {
    return {&cost_[size_t(op) * num_devices_], size_t(num_devices_)};
  }
  /// [num_devices, num_devices] from the source's device to the target's; kMaxNanos: never. [ns]
  std::span<const Nanos> delays(int table) const {
    const size_t size = size_t(num_devices_) * num_devices_;
    return {&delays_[table * size], size};
  }
  /// Bytes whose transfer the delays are; -1 for a table that is none of a transfer. [B]
  std::int64_t bytes(int table) const { return bytes_[table]; }
  /// The edges of the graph into an op.
  std::span<const Edge> edges_into(int op) const {
    return {edges_.data() + begin_[op], edges_.data() + begin_[op + 1]};
  }
  /// Those that were added.
  std::span<const Edge> added_into(int op) const { return added_[op]; }

  /// Adds an edge. @param delays  [num_devices, num_devices] [ns]
  void Add(int from, int to, std::span<const Nanos> delays);

  /// Sets finish[op, d] for each device d: the least finish of an op after all that it awaits, if
  /// each group is on one of its devices in `masks`; kMaxNanos where it may not be.
  /// @param masks   [num_groups], a part of allowed_devices()
  /// @param finish  [num_ops, num_devices], set for all ops before [ns]
  void SetFinish(int op, std::span<const std::uint64_t> masks, std::span<Nanos> finish) const;

  /// Longest paths within masks from the beginning and to the end.
  /// @param finish  [num_ops, num_devices] result: as SetFinish(), of all ops
  /// @param tail    [num_ops, num_devices] result: the least time from there to the end of the step
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
