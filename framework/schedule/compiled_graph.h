#pragma once

// A graph in flat arrays, in the order in which a step is walked over: what the engines of the
// simulator and the executor's plan know of ops, of what passes between them, and of memory.
// Nothing in it depends on a placement or on a machine, so that it is made once per problem.
//
// Ops stand at *positions*, in the order that the maker chose: the issue order of stream semantics,
// the ids in queue semantics. What ops make for one another are *items*: every tensor that has a
// producer, and for each op with control readers one control item of 0 bytes. Items are numbered by
// (position of the producer, tensor id, control item last), which is also the order of their
// copies.
//
// A placement is given to the functions here as the device of the op at each position, `device`
// [num_ops], every device less than 64.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// The rules of memory that it carries are those of simulator/README.md, "Memory": which bytes are
/// resident, which are allocated by whom, which tensors share a buffer, which are never released.
struct CompiledGraph {
  /// @param op_order  [num_ops] every op id once; position i holds op op_order[i]
  CompiledGraph(const Graph& graph, std::span<const int> op_order);

  int num_ops = 0, num_items = 0;

  // Ops, by position.
  std::vector<int> op_at;              ///< [num_ops] op id
  std::vector<int> item_begin;         ///< [num_ops + 1] of the items that an op makes
  std::vector<int> read_begin, reads;  ///< [num_ops + 1] into [reads]: items that an op awaits
  /// [num_ops] what it allocates for its outputs when it starts, its workspace apart [B]
  std::vector<std::int64_t> own_bytes;
  std::vector<std::int64_t> workspace;  ///< [num_ops] held while the op runs [B]

  // Items.
  struct Item {
    std::int64_t bytes = 0;  ///< on the wire, and of each received copy [B]
    /// Of the buffer that the producer allocates for it; 0: resident, an alias, or control. [B]
    std::int64_t held = 0;
    std::int64_t released_bytes = 0;  ///< of `held`, in the end: 0 for role output [B]
    int producer = 0;                 ///< position
    int alias_class = -1;             ///< -1 for the (usual) item that shares no memory
  };
  std::vector<Item> items;                 ///< [num_items]
  std::vector<int> item_of;                ///< [num_tensors] -1: without producer
  std::vector<int> reader_begin, readers;  ///< [num_items + 1] into [readers]: positions, ascending

  /// Items that may share one buffer: a tensor that is no alias (the root), and its aliases. Which
  /// of them do share it depends on the placement: PlaceAliases().
  struct AliasClass {
    int root = -1;                   ///< item; -1: a graph input, which is resident
    bool root_pinned = false;        ///< the root's own buffer is never released
    std::vector<int> members;        ///< items other than the root
    std::vector<std::uint8_t> pins;  ///< [members] the buffer that it lives in is never released
  };
  std::vector<AliasClass> alias_classes;

  // Resident memory.
  struct Resident {
    int position;        ///< op that makes it
    std::int64_t bytes;  ///< [B]
  };
  std::vector<Resident> residents;
  /// [num_inputs + 1] into [input_readers]: the positions that read a graph input, those of 0 bytes
  /// left out
  std::vector<int> input_begin, input_readers;
  std::vector<std::int64_t> input_bytes;  ///< [num_inputs] [B]

  /// Mask of the devices on which an item has a reader, its producer's perhaps among them.
  std::uint64_t ReaderDevices(int item, const std::uint8_t* device) const {
    std::uint64_t mask = 0;
    for (int r = reader_begin[item]; r < reader_begin[item + 1]; ++r) {
      mask |= std::uint64_t{1} << device[readers[r]];
    }
    return mask;
  }

  /// Adds what is resident for the whole step.
  /// @param device  [num_ops] by position
  /// @param bytes   [num_devices] [B]
  void AddResidentBytes(const std::uint8_t* device, std::int64_t* bytes) const;

  /// Where the members of a class live: the rule of StorageOf() (memory_plan.h) for all at once.
  /// @param alias_class  whose root is an item
  /// @param device       [num_ops] by position
  /// @param storage      out: [members] device of the buffer that each lives in: the root's own on
  ///                     its producer's device, the received copy of the root on any other
  /// @return mask of the devices whose buffer is never released
  std::uint64_t PlaceAliases(const AliasClass& alias_class,
                             const std::uint8_t* device,
                             std::vector<int>& storage) const;
};

}  // namespace emplace
