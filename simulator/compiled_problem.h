#pragma once

// A problem in flat arrays, in the order in which an engine walks over it. Ops stand at
// *positions*: in id order for Q (positions break its ties), in issue order for S. What ops make
// for one another are *items*: every tensor with a producer, and one item of 0 bytes per op with
// control readers. Items are numbered by (position of the producer, tensor id, control last), which
// is the order of the copies, too.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

struct CompiledProblem {
  CompiledProblem(const Problem& problem, std::span<const int> op_order);

  int num_ops = 0, num_items = 0, num_devices = 0, num_channels = 0;

  // Ops, by position.
  std::vector<int> op_at;              ///< [num_ops] op id
  std::vector<int> group_at;           ///< [num_ops]
  std::vector<Nanos> cost;             ///< [num_ops, num_devices]
  std::vector<int> item_begin;         ///< [num_ops + 1] items an op makes
  std::vector<int> read_begin, reads;  ///< [num_ops + 1] items with a producer that an op reads
  std::vector<std::int64_t>
      own_bytes;  ///< [num_ops] transient bytes it allocates for its outputs [B]
  std::vector<std::int64_t> workspace;  ///< [num_ops] [B]

  // Items.
  struct Item {
    std::int64_t bytes = 0;  ///< on the wire, and of a copy [B]
    std::int64_t held = 0;   ///< allocated by the producer [B]: 0 if resident, alias or control
    std::int64_t released_bytes = 0;  ///< of `held`: 0 for role output, which is never released [B]
    int producer = 0;                 ///< position
    int alias_class = -1;             ///< -1 for the (usual) item that shares no memory
  };
  std::vector<Item> items;                 ///< [num_items]
  std::vector<int> reader_begin, readers;  ///< [num_items + 1] positions
  std::vector<Nanos> wire;                 ///< [num_items, num_rates]
  int num_rates = 0;

  // Items that share memory.
  struct AliasClass {
    int root = -1;                   ///< item; -1: a graph input
    bool root_pinned = false;        ///< resident or role output
    std::vector<int> members;        ///< items other than the root
    std::vector<std::uint8_t> pins;  ///< [members] role output or resident: never released
  };
  std::vector<AliasClass> alias_classes;

  // Memory that does not depend on timing.
  struct Resident {
    int position;        ///< op that makes it
    std::int64_t bytes;  ///< [B]
  };
  std::vector<Resident> residents;
  std::vector<int> input_begin,
      input_readers;                      ///< graph inputs that count: positions of the readers
  std::vector<std::int64_t> input_bytes;  ///< [B]

  // Machine.
  std::vector<Nanos> gap, issue, launch;    ///< [num_devices]
  std::vector<int> slots;                   ///< [num_devices]
  std::vector<std::int64_t> memory;         ///< [num_devices] [B]
  std::vector<Nanos> latency, channel_gap;  ///< [num_channels]
  std::vector<int> rate;                    ///< [num_channels] column of `wire`
  std::vector<std::uint8_t> broadcast;      ///< [num_channels]
  std::vector<int> route_begin, routes;  ///< [num_devices^2 + 1] channels from * num_devices + to
  std::vector<int> direct_channel;  ///< [num_devices^2] the channel of a route of one hop without
                                    ///< broadcast, else -1
  bool has_slots = false;           ///< some device runs several ops at once
  bool has_host = false;            ///< issue or launch costs anything

  std::span<const int> route(int from, int to) const {
    const int row = from * num_devices + to;
    return {routes.data() + route_begin[row], routes.data() + route_begin[row + 1]};
  }

  /// Bytes resident for the whole step. @param device  [num_ops] by position  @param bytes
  /// [num_devices]
  void AddResidentBytes(const std::uint8_t* device, std::int64_t* bytes) const;
};

/// Where the aliases of one class live under a placement; see StorageOf.
/// @param device   [num_ops] by position
/// @param storage  [members] device of the shared buffer
/// @return mask of devices whose buffer is never released
std::uint64_t PlaceAliases(const CompiledProblem& problem,
                           const CompiledProblem::AliasClass& alias_class,
                           const std::uint8_t* device,
                           std::vector<int>& storage);

}  // namespace emplace
