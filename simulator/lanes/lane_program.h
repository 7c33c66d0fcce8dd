#pragma once

// A problem of stream semantics, compiled for simulating many placements at once: one placement per
// lane of a vector register (lane_kernel.h). All lanes go through the same ops in the same issue
// order; only devices differ. So everything that the order decides is decided here, once:
//
// - what an op awaits of its own group needs no look at devices: the two are never apart;
// - of the readers of an item only the last one of each group matters;
// - arrival times are kept in rows that are used again once their last reader has been issued;
// - times are 32-bit ticks of a nanosecond; a placement whose times do not fit is found while it
//   runs (time_limit) and left to the scalar engine. Bytes are 32-bit counts of a common unit where
//   all that is in use at once fits, else 64-bit.
//
// Internal to the simulator.

#include <cstdint>
#include <vector>

#include "simulator/engine/compiled_problem.h"
#include "simulator/engine/engine.h"

namespace emplace {

/// How bytes are counted in lanes.
enum class LaneMemory : std::uint8_t { kNone, k32, k64 };

struct LaneProgram {
  /// @param problem  compiled in issue order
  LaneProgram(const CompiledProblem& problem, const EngineOptions& options);

  /// false: some single cost, transfer or size is too large for 32-bit ticks, or reads may be cold;
  /// nothing below is filled in
  bool possible = false;

  int num_ops = 0, num_groups = 0, num_devices = 0, num_channels = 0, num_slots = 0;
  int num_rows = 0;  ///< of arrival times that are alive at once
  LaneMemory memory = LaneMemory::kNone;
  std::int64_t unit = 1;  ///< [B] that all sizes are multiples of; 1 with k64
  /// A time below it is right; one at or above it may have overflowed. [ns]
  std::uint32_t time_limit = 0;
  /// The same where no op is on other devices than these: a slow device's costs need not be
  /// reckoned with. @param in_use  mask of devices
  std::uint32_t TimeLimit(std::uint64_t in_use) const;
  std::vector<std::int64_t> largest_cost;  ///< [num_devices] of any op [ns]
  std::int64_t step_besides_cost = 0;      ///< by which an op or a transfer may end later [ns]
  int most_slots = 1;                      ///< of any device

  // What the problem uses.
  bool has_host = false;  ///< `issue` or `launch` of some device
  bool has_gaps = false;  ///< `gap` of some device
  bool has_channel_gaps = false;
  bool count_gaps = false;   ///< EngineOptions::count_gaps
  bool contention = true;    ///< EngineOptions::channel_contention
  bool one_speed = false;    ///< all channels that routes use are like `speed`
  bool has_aliases = false;  ///< memory is counted, and some items share buffers
  /// Some route has several hops or broadcasts, some device several slots or work to do for a
  /// transfer, or channels are not waited for: the general kernel.
  bool general = false;

  struct Op {
    std::int32_t group;
    std::int32_t finish_row;  ///< row of its finish, for its own group; -1: none
    std::int32_t single_begin, block_begin, item_begin, release_begin, class_begin;
  };
  std::vector<Op> ops;  ///< [num_ops + 1] in issue order; the last one has the ends
  /// Rows of what an op awaits where a row is enough: the finish of an op of its own group, which
  /// is never apart from it, or the arrival of an item at its group.
  std::vector<std::int32_t> singles;
  /// First of the num_devices rows of any other item that it awaits: its arrival at each device.
  std::vector<std::int32_t> blocks;
  std::vector<std::uint32_t> cost;       ///< [num_ops, num_devices] and padding [ns]
  std::vector<std::uint32_t> occupancy;  ///< the same plus the device's gap, if has_gaps [ns]
  /// [num_ops] What an op leaves in use on its device, wherever its readers are: its outputs, less
  /// what is over behind it in every placement. [unit]
  std::vector<std::int64_t> own_bytes;
  /// [num_ops] What it holds beyond that while it runs: own_bytes + workspace count in its peak.
  std::vector<std::int64_t> workspace;

  static constexpr int kFewReaders = 2;
  struct Item {
    std::int32_t index;     ///< in CompiledGraph::items, and row of `wire`
    std::int32_t producer;  ///< group
    std::int32_t block;     ///< first of its num_devices rows of arrivals; -1: none
    /// In its place: the groups that read it, if they are kFewReaders at most besides its own (one
    /// for `matrix`), and the row of its arrival at each.
    std::int32_t reader[kFewReaders], reader_row[kFewReaders];
    std::int32_t entry_begin, entry_end;  ///< of its readers
    std::int16_t num_readers;             ///< in `reader`
    bool all_away;                        ///< nobody in the producer's group reads it
    std::int64_t bytes;                   ///< of each received copy [unit]
    /// Of its own buffer, when it is released; 0 for one that aliases share. [unit]
    std::int64_t released_bytes;
  };
  std::vector<Item> items;  ///< those that matter, by producer
  /// The last readers of an item in each group that reads it; by item, then by position.
  std::vector<std::int32_t> entry_group, entry_position;
  /// What an op is the last of its group to read: perhaps the last of all on its device. Left out
  /// are buffers that aliases share, and what `own_bytes` has already.
  struct Release {
    std::int32_t item, entry;  ///< index into `items`, and of the reader
  };
  std::vector<Release> releases;
  /// Whether a reader has a row of LaneRun::later: a look at a few later readers takes less time.
  static constexpr bool HasRow(const Item& item, int entry) { return item.entry_end - entry > 3; }

  // The machine. Tables by device and by channel are padded for vector loads.
  std::vector<std::uint32_t> issue, launch;  ///< [num_devices] [ns]
  std::vector<std::int32_t> slot_begin;      ///< [num_devices + 1] slots of a device
  std::vector<std::uint32_t> wire;           ///< [num_items, num_rates] [ns]
  int num_rates = 0;
  std::vector<std::uint32_t> latency, channel_gap;  ///< [num_channels] [ns]
  std::vector<std::int32_t> rate;                   ///< [num_channels]
  std::vector<std::uint8_t> broadcast, occupies_source, occupies_destination;  ///< [num_channels]
  std::vector<std::int32_t> route_begin, routes;  ///< as in CompiledProblem
  /// Rows of LaneRun::channel_free. A channel has its own; but if every pair of devices has a
  /// channel of its own, `matrix`, that of a pair has the row to * num_devices + from.
  int num_channel_rows = 0;
  bool matrix = false;
  /// Unless `general`: [num_devices, num_devices] by destination, then source: row of the channel;
  /// -1: there is none.
  std::vector<std::int32_t> channel_row;
  /// The same: what the channel is like.
  std::vector<std::uint32_t> rate_from, latency_from, gap_from;
  struct Speed {
    std::uint32_t rate = 0, latency = 0, gap = 0;
  } speed;

  // Memory that is there from the beginning to the end.
  std::vector<std::int64_t> resident;  ///< [num_groups] what its ops make [unit]
  struct Input {
    std::int32_t begin, end;  ///< of its reading groups
    std::int64_t bytes;       ///< [unit]
  };
  std::vector<Input> inputs;
  std::vector<std::int32_t> input_groups;

  // Buffers that aliases share (CompiledGraph::AliasClass), those of graph inputs left out.
  struct SharedClass {
    std::int32_t producer;              ///< group that makes the root
    bool pinned;                        ///< the root's own buffer is never released
    std::int64_t held, bytes;           ///< of the root's own buffer, and of a received copy [unit]
    std::int32_t item_begin, item_end;  ///< of its items, the root first
  };
  std::vector<SharedClass> classes;
  struct SharedItem {
    std::int32_t producer, position;      ///< group and position
    std::int32_t entry_begin, entry_end;  ///< of its readers
    bool pins;                            ///< keeps the buffer in which it lives
  };
  std::vector<SharedItem> shared_items;
  std::vector<std::int32_t> touched;  ///< classes of which an op makes or reads something

  /// Before every rebase_distance-th op times are made small, if they are large
  /// (LaneBuffers::Pass()).
  int rebase_distance = 0;

  // For placements that differ from a common one in a few groups.
  /// [num_groups] the first position at which it matters where the group is: of its ops, of those
  /// that make what they read, and of those that make the roots of their aliases
  std::vector<std::int32_t> first_effect;
  /// [num_groups + 1] into [group_items]: items that it reads, if memory is counted
  std::vector<std::int32_t> group_item_begin, group_items;
  /// The same for alias classes.
  std::vector<std::int32_t> group_class_begin, group_classes;
};

}  // namespace emplace
