#pragma once

// A graph in flat arrays, in the order in which engines visit it: the ops, the items sent between
// them, and their memory. The simulator's engines and the executor's plan read it. It depends on
// neither a placement nor a machine, so it is made once per problem.
//
// Ops have *positions*, in an order chosen by the maker of the object: the issue order in stream
// semantics, the ids in queue semantics. *Items* are the data sent between ops: every tensor that
// has a producer, and for each op with control readers one control item of 0 bytes. Items are
// numbered by (position of the producer, tensor id, control item last), which is also the order of
// their copies.
//
// Functions here take a placement as the device of the op at each position, `device` [num_ops],
// with every device less than 64.

#include <cstdint>
#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// It includes the rules of simulator/README.md, "Memory": which bytes are resident, which op
/// allocates which bytes, which tensors share a buffer, and which are never released.
struct CompiledGraph {
  /// @param op_order  [num_ops] every op id once; position i holds op op_order[i]
  CompiledGraph(const Graph& graph, std::span<const int> op_order);

  int num_ops = 0, num_items = 0;

  // Ops, by position.
  std::vector<int> op_at;              ///< [num_ops] op id
  std::vector<int> item_begin;         ///< [num_ops + 1] range of the items that an op makes
  std::vector<int> read_begin, reads;  ///< [num_ops + 1] into [reads]: items that an op awaits
  /// [num_ops] allocated for the outputs when the op starts, without its workspace [B]
  std::vector<std::int64_t> own_bytes;
  std::vector<std::int64_t> workspace;  ///< [num_ops] held while the op runs [B]

  // Items.
  struct Item {
    std::int64_t bytes = 0;  ///< on the wire, and of each received copy [B]
    /// Size of the buffer that the producer allocates; 0: resident, an alias, or control. [B]
    std::int64_t held = 0;
    std::int64_t released_bytes = 0;  ///< part of `held` that is released: 0 for role output [B]
    int producer = 0;                 ///< position
    int alias_class = -1;             ///< -1 for an item that shares no memory (the usual case)
  };
  std::vector<Item> items;                 ///< [num_items]
  std::vector<int> item_of;                ///< [num_tensors] -1: no producer
  std::vector<int> reader_begin, readers;  ///< [num_items + 1] into [readers]: positions, ascending

  /// Items that may share one buffer: a tensor that is not an alias (the root), and its aliases.
  /// PlaceAliases() finds those that share it under a placement.
  struct AliasClass {
    int root = -1;                   ///< item; -1: a graph input, which is resident
    bool root_pinned = false;        ///< the root's own buffer is never released
    std::vector<int> members;        ///< items other than the root
    std::vector<std::uint8_t> pins;  ///< [members] the buffer in which it lives is never released
  };
  std::vector<AliasClass> alias_classes;

  // Resident memory.
  struct Resident {
    int position;        ///< of the op that makes it
    std::int64_t bytes;  ///< [B]
  };
  std::vector<Resident> residents;
  /// [num_inputs + 1] into [input_readers]: positions that read a graph input. Inputs of 0 bytes
  /// are left out.
  std::vector<int> input_begin, input_readers;
  std::vector<std::int64_t> input_bytes;  ///< [num_inputs] [B]

  /// Returns a mask of the devices on which an item has a reader, which may include its producer's.
  std::uint64_t ReaderDevices(int item, const std::uint8_t* device) const {
    std::uint64_t mask = 0;
    for (int r = reader_begin[item]; r < reader_begin[item + 1]; ++r) {
      mask |= std::uint64_t{1} << device[readers[r]];
    }
    return mask;
  }

  /// Adds the bytes that are resident for the whole step.
  /// @param device  [num_ops] by position
  /// @param bytes   [num_devices] [B]
  void AddResidentBytes(const std::uint8_t* device, std::int64_t* bytes) const;

  /// Finds the buffers of all members of a class, by the rule of StorageOf() (memory_plan.h).
  /// @param alias_class  its root must be an item
  /// @param device       [num_ops] by position
  /// @param storage      out: [members] device of the buffer in which each lives. On the root's
  ///   device this is the root's own buffer, on any other the received copy of the root.
  /// @return mask of the devices whose buffer is never released
  std::uint64_t PlaceAliases(const AliasClass& alias_class,
                             const std::uint8_t* device,
                             std::vector<int>& storage) const;
};

}  // namespace emplace
