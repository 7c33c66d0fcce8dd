#pragma once

// A problem in flat arrays, in the order in which an engine visits the ops. The graph's part is in
// compiled_graph.h; costs, wire times and the machine are here. A simulator makes it once and only
// reads it afterwards, so the engines of several threads share one.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/schedule/compiled_graph.h"
#include "framework/search/problem.h"

namespace emplace {

/// The base class has num_ops, num_items, the ops by position, the items with their readers, and
/// the sizes for memory. Devices, channels and kinds have the indices of the cluster.
struct CompiledProblem : CompiledGraph {
  /// @param op_order  [num_ops] the op at each position: SemanticsEntry::op_order
  CompiledProblem(const Problem& problem, std::span<const int> op_order);

  int num_devices = 0, num_channels = 0;

  // Ops, by position.
  std::vector<int> group_at;  ///< [num_ops] group of the placement that the op belongs to
  std::vector<Nanos> cost;    ///< [num_ops, num_devices] kMaxNanos where the op may not run [ns]

  // Items. Channels of equal bandwidth and setup share a rate, and therefore a column of `wire`.
  std::vector<Nanos> wire;  ///< [num_items, num_rates] time on a channel without latency [ns]
  int num_rates = 0;
  /// [num_items, num_devices] extra time of the first reader on a device if the item came from
  /// another device [ns]; empty unless has_cold
  std::vector<Nanos> cold;
  bool has_cold = false;  ///< some kind has a `cold_read`
  /// Returns the position of the reader that pays this on device `e`: the reader of least id there.
  /// @param device_at  callable: position -> device   @pre some reader is on `e`
  template <class DeviceAt>
  int ColdReader(int item, int e, const DeviceAt& device_at) const {
    int first = -1;
    for (int r = reader_begin[item]; r < reader_begin[item + 1]; ++r) {
      const int position = readers[r];
      if (device_at(position) == e && (first < 0 || op_at[position] < op_at[first]))
        first = position;
    }
    return first;
  }

  // Interference; all empty unless has_interference.
  bool has_interference = false;           ///< some device has neighbours
  std::vector<Interference> interference;  ///< [num_ops, num_devices] of ops, by position
  std::vector<Interference> transfers;   ///< [num_devices] of the transfers that belong to a device
  std::vector<std::uint64_t> neighbors;  ///< [num_devices] masks

  // Devices.
  std::vector<Nanos> gap, issue, launch;  ///< [num_devices] of the device's kind [ns]
  std::vector<int> slots;                 ///< [num_devices] ops that the device runs at once
  std::vector<std::int64_t> memory;       ///< [num_devices] [B]; kUnlimitedMemory: no limit
  bool has_slots = false;                 ///< some device runs several ops at once
  bool has_host = false;                  ///< some device has `issue` or `launch` other than 0

  // Channels.
  std::vector<Nanos> latency, channel_gap;  ///< [num_channels] [ns]
  std::vector<int> rate;                    ///< [num_channels] column of `wire`
  std::vector<std::uint8_t> broadcast;      ///< [num_channels] one hop serves several destinations
  /// [num_channels] a transfer holds a slot of the source or destination for its wire time
  std::vector<std::uint8_t> occupies_source, occupies_destination;
  bool has_occupies = false;  ///< some channel occupies a device

  // Routes, by row from * num_devices + to. The row of a device to itself, and of a pair without
  // route, is empty.
  std::vector<int> route_begin, routes;  ///< [num_devices^2 + 1] into [routes]: channels
  /// [num_devices^2] the channel of a route of one hop that does not broadcast, else -1. Most
  /// routes are of this kind and need no loop over hops.
  std::vector<int> direct_channel;

  /// Returns the channels on the way from one device to another, first hop first.
  std::span<const int> route(int from, int to) const {
    const int row = from * num_devices + to;
    return {routes.data() + route_begin[row], routes.data() + route_begin[row + 1]};
  }
};

}  // namespace emplace
