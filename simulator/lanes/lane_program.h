#pragma once

// A problem of stream semantics, compiled for simulating many placements at once: one placement per
// lane of a vector register (lane_kernel.h). All lanes process the same ops in the same issue
// order; only the devices differ. So everything that depends only on the order is computed here,
// once:
//
// - an op awaits ops of its own group without a look at devices, since groups are never split;
// - among the readers of an item only the last one of each group matters;
// - arrival times are kept in rows that are reused after their last reader has been issued;
// - times are 32-bit numbers of nanoseconds; a placement whose times do not fit is detected during
//   the pass (time_limit) and left to the scalar engine. Bytes are 32-bit multiples of a common
//   unit if all bytes in use at once fit, else 64-bit.
//
// Internal to the simulator.

#include <cstdint>
#include <vector>

#include "simulator/engine/compiled_problem.h"
#include "simulator/engine/engine.h"

namespace emplace {

/// The way in which lanes count bytes.
enum class LaneMemory : std::uint8_t { kNone, k32, k64 };

struct LaneProgram {
  /// @param problem  compiled in issue order
  LaneProgram(const CompiledProblem& problem, const EngineOptions& options);

  /// False: some cost, transfer or size is too large for 32 bits, or reads may be cold; the rest is
  /// not set.
  bool possible = false;

  int num_ops = 0, num_groups = 0, num_devices = 0, num_channels = 0, num_slots = 0;
  int num_rows = 0;  ///< rows of arrival times in use at once
  LaneMemory memory = LaneMemory::kNone;
  std::int64_t unit = 1;  ///< [B] all sizes are multiples of it; 1 with k64
  /// A time below the limit is right; one at or above it may have overflowed. [ns]
  std::uint32_t time_limit = 0;
  /// Returns the limit for placements that use only some devices; the costs of slow devices outside
  /// them do not reduce it. @param in_use  mask of devices
  std::uint32_t TimeLimit(std::uint64_t in_use) const;
  std::vector<std::int64_t> largest_cost;  ///< [num_devices] of any op [ns]
  std::int64_t step_besides_cost = 0;      ///< most delay by an op or transfer, its cost apart [ns]
  int most_slots = 1;                      ///< of any device

  // Features that the problem uses.
  bool has_host = false;  ///< `issue` or `launch` of some device
  bool has_gaps = false;  ///< `gap` of some device
  bool has_channel_gaps = false;
  bool count_gaps = false;   ///< EngineOptions::count_gaps
  bool contention = true;    ///< EngineOptions::channel_contention
  bool one_speed = false;    ///< all channels that routes use have the figures `speed`
  bool has_aliases = false;  ///< memory is counted, and some items share buffers
  /// The general kernel is needed: some route has several hops or broadcasts, some device has
  /// several slots or is occupied by transfers, or channels are without contention.
  bool general = false;

  struct Op {
    std::int32_t group;
    std::int32_t finish_row;  ///< row of its finish, for readers in its own group; -1: none
    std::int32_t single_begin, block_begin, item_begin, release_begin, class_begin;
  };
  std::vector<Op> ops;  ///< [num_ops + 1] in issue order; the last entry has the ends
  /// Rows that an op awaits and that do not depend on its device: the finish of an op of its own
  /// group, or the arrival of an item at its group.
  std::vector<std::int32_t> singles;
  /// First of the num_devices rows of any other item that an op awaits: the arrival at each device.
  std::vector<std::int32_t> blocks;
  std::vector<std::uint32_t> cost;       ///< [num_ops, num_devices] and padding [ns]
  std::vector<std::uint32_t> occupancy;  ///< the same plus the device's gap, if has_gaps [ns]
  /// [num_ops] Bytes that an op leaves in use on its device, wherever its readers are: its outputs,
  /// less the buffers that are released after it in every placement. [unit]
  std::vector<std::int64_t> own_bytes;
  /// [num_ops] Additional bytes in use while it runs: own_bytes + workspace count in its peak.
  std::vector<std::int64_t> workspace;

  static constexpr int kFewReaders = 2;
  struct Item {
    std::int32_t index;     ///< in CompiledGraph::items, and row of `wire`
    std::int32_t producer;  ///< group
    std::int32_t block;     ///< first of its num_devices rows of arrivals; -1: none
    /// Instead of a block: the groups that read the item besides its own, if they are at most
    /// kFewReaders (one for `matrix`), and the row of its arrival at each.
    std::int32_t reader[kFewReaders], reader_row[kFewReaders];
    std::int32_t entry_begin, entry_end;  ///< into the entries of its readers
    std::int16_t num_readers;             ///< in `reader`
    bool all_away;                        ///< no op of the producer's group reads it
    std::int64_t bytes;                   ///< of each received copy [unit]
    /// Bytes of its own buffer when it is released; 0 if aliases share the buffer. [unit]
    std::int64_t released_bytes;
  };
  std::vector<Item> items;  ///< the items that matter, by producer
  /// The last reader of an item in each group that reads it; by item, then by position.
  std::vector<std::int32_t> entry_group, entry_position;
  /// Items of which an op is the last reader in its group, and therefore perhaps the last reader on
  /// its device. Buffers that aliases share, or that `own_bytes` counts, are left out.
  struct Release {
    std::int32_t item, entry;  ///< index into `items`, and of the reader
  };
  std::vector<Release> releases;
  /// Returns whether a reader has a row of LaneRun::later. A loop over few later readers is faster.
  static constexpr bool HasRow(const Item& item, int entry) { return item.entry_end - entry > 3; }

  // The machine. Tables by device and by channel are padded for vector loads.
  std::vector<std::uint32_t> issue, launch;  ///< [num_devices] [ns]
  std::vector<std::int32_t> slot_begin;      ///< [num_devices + 1] first slot of each device
  std::vector<std::uint32_t> wire;           ///< [num_items, num_rates] [ns]
  int num_rates = 0;
  std::vector<std::uint32_t> latency, channel_gap;  ///< [num_channels] [ns]
  std::vector<std::int32_t> rate;                   ///< [num_channels]
  std::vector<std::uint8_t> broadcast, occupies_source, occupies_destination;  ///< [num_channels]
  std::vector<std::int32_t> route_begin, routes;  ///< as in CompiledProblem
  /// Rows of LaneRun::channel_free. A channel has a row of its own; if every pair of devices has
  /// its own channel (`matrix`), the channel of a pair has row to * num_devices + from.
  int num_channel_rows = 0;
  bool matrix = false;
  /// Unless `general`: [num_devices, num_devices] by destination, then source: row of the channel;
  /// -1: no route.
  std::vector<std::int32_t> channel_row;
  /// The figures of those channels, in the same layout.
  std::vector<std::uint32_t> rate_from, latency_from, gap_from;
  struct Speed {
    std::uint32_t rate = 0, latency = 0, gap = 0;
  } speed;

  // Memory that is in use for the whole step.
  std::vector<std::int64_t> resident;  ///< [num_groups] resident tensors that its ops make [unit]
  struct Input {
    std::int32_t begin, end;  ///< into the groups that read it
    std::int64_t bytes;       ///< [unit]
  };
  std::vector<Input> inputs;
  std::vector<std::int32_t> input_groups;

  // Buffers that aliases share (CompiledGraph::AliasClass), except those of graph inputs.
  struct SharedClass {
    std::int32_t producer;     ///< group that makes the root
    bool pinned;               ///< the root's own buffer is never released
    std::int64_t held, bytes;  ///< bytes of the root's own buffer and of a received copy [unit]
    std::int32_t item_begin, item_end;  ///< of its items, the root first
  };
  std::vector<SharedClass> classes;
  struct SharedItem {
    std::int32_t producer, position;      ///< group and position
    std::int32_t entry_begin, entry_end;  ///< into the entries of its readers
    bool pins;                            ///< the buffer in which it lives is never released
  };
  std::vector<SharedItem> shared_items;
  std::vector<std::int32_t> touched;  ///< alias classes in which an op makes or reads a tensor

  /// Returns how much times grow, about, from op `begin` to before op `end`. [ns]
  /// @param in_use  mask of devices
  std::int64_t Growth(int begin, int end, std::uint64_t in_use) const;
  /// [num_ops + 1, num_devices] sum of the costs of all ops before one [ns]
  std::vector<std::int64_t> cost_before;

  // For placements that differ from a common base in a few groups.
  /// [num_groups] the first position at which the device of the group matters: the least position
  /// of its ops, of the producers of their inputs, and of the producers of the roots of their
  /// aliases
  std::vector<std::int32_t> first_effect;
  /// [num_groups + 1] into [group_items]: items that the group reads, if memory is counted
  std::vector<std::int32_t> group_item_begin, group_items;
  /// The same for alias classes.
  std::vector<std::int32_t> group_class_begin, group_classes;
};

}  // namespace emplace
