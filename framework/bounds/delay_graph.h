#pragma once

// The dependencies of a problem as delays that depend on the devices of both ends. An edge from op
// u to op v has a table W[s, d]: if u is on device s and v on d, v starts no earlier than W[s, d]
// after the finish of u. This holds in every schedule of every placement, in every semantics and
// with every issue order. There are two kinds of edges:
//
//   of the graph  v awaits an item of u: W[s, d] = T(s, d, bytes) of the largest such item, the
//                 time of a transfer on idle channels (Cluster::TransferTime); kMaxNanos if u and v
//                 share a group and s != d. W[s, s] = the gap of s if s has one slot and u takes
//                 time on every such device with gaps, else 0
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

/// Sets finish[op, d] for each device d: the earliest finish of an op after all that it awaits, if
/// each group is on one of its devices in `masks`; kMaxNanos where it may not run.
/// @param graph   a DelayGraph, or a part of one with own numbers of ops: num_ops(), num_devices(),
///   group(op), cost(op), delays(table), and visit_edges_into(op, visit(edge))
/// @param masks   [num_groups], a subset of the allowed devices
/// @param finish  [num_ops, num_devices], already set for all earlier ops [ns]
template <class Delays>
void SetFinish(const Delays& graph,
               int op,
               std::span<const std::uint64_t> masks,
               std::span<Nanos> finish) {
  const int n = graph.num_devices();
  Nanos* const own = &finish[size_t(op) * n];
  const std::uint64_t mask = masks[graph.group(op)];
  for (int d = 0; d < n; ++d) own[d] = mask >> d & 1 ? 0 : kMaxNanos;
  graph.visit_edges_into(op, [&](const auto& edge) {
    const std::span<const Nanos> delays = graph.delays(edge.table);
    const Nanos* const from = &finish[size_t(edge.op) * n];
    for (std::uint64_t targets = mask; targets; targets &= targets - 1) {
      const int d = std::countr_zero(targets);
      Nanos least = kMaxNanos;
      for (std::uint64_t rest = masks[graph.group(edge.op)]; rest; rest &= rest - 1) {
        const int s = std::countr_zero(rest);
        least = std::min(least, from[s] + delays[size_t(s) * n + d]);
      }
      own[d] = std::max(own[d], least);
    }
  });
  for (int d = 0; d < n; ++d) own[d] = std::min(kMaxNanos, own[d] + graph.cost(op)[d]);
}

/// Computes the longest paths from the beginning and to the end, within the masks.
/// @param graph   as above
/// @param finish  [num_ops, num_devices] out: as SetFinish(), of all ops
/// @param tail    [num_ops, num_devices] out: the least time from there to the end of the step
template <class Delays>
void SetPaths(const Delays& graph,
              std::span<const std::uint64_t> masks,
              std::vector<Nanos>& finish,
              std::vector<Nanos>& tail) {
  const int n = graph.num_devices();
  finish.resize(size_t(graph.num_ops()) * n);
  for (int op = 0; op < graph.num_ops(); ++op) SetFinish(graph, op, masks, finish);
  tail.assign(finish.size(), 0);
  Nanos whole[kMaxDevices];
  for (int op = graph.num_ops() - 1; op >= 0; --op) {
    const std::uint64_t mask = masks[graph.group(op)];
    Nanos* const own = &tail[size_t(op) * n];
    for (int d = 0; d < n; ++d) {
      if (!(mask >> d & 1)) own[d] = kMaxNanos;
      whole[d] = std::min(kMaxNanos, own[d] + graph.cost(op)[d]);
    }
    graph.visit_edges_into(op, [&](const auto& edge) {
      const std::span<const Nanos> delays = graph.delays(edge.table);
      Nanos* const to = &tail[size_t(edge.op) * n];
      for (std::uint64_t rest = masks[graph.group(edge.op)]; rest; rest &= rest - 1) {
        const int s = std::countr_zero(rest);
        Nanos least = kMaxNanos;
        for (std::uint64_t targets = mask; targets; targets &= targets - 1) {
          const int d = std::countr_zero(targets);
          least = std::min(least, delays[size_t(s) * n + d] + whole[d]);
        }
        to[s] = std::max(to[s], least);
      }
    });
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
  /// Returns the time for which a slot of a device is busy after an op. [ns]
  Nanos gap(int op, int device) const { return cost(op)[device] > 0 ? gap_[device] : 0; }
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
  /// Calls visit(edge) for all of these edges.
  template <class Visit>
  void visit_edges_into(int op, const Visit& visit) const {
    for (const Edge& edge : edges_into(op)) visit(edge);
    for (const Edge& edge : added_into(op)) visit(edge);
  }

  /// Adds an edge. @param delays  [num_devices, num_devices] [ns]
  void Add(int from, int to, std::span<const Nanos> delays);

 private:
  const Problem& problem_;
  int num_devices_ = 0;
  std::vector<int> group_;   // [num_ops]
  std::vector<Nanos> cost_;  // [num_ops, num_devices]
  std::vector<Nanos> gap_;   // [num_devices]
  std::vector<int> begin_;   // [num_ops + 1]
  std::vector<Edge> edges_;
  std::vector<std::vector<Edge>> added_;  // [num_ops]
  std::vector<std::int64_t> bytes_;       // [num_tables]
  std::vector<Nanos> delays_;             // [num_tables, num_devices, num_devices]
};

}  // namespace emplace
