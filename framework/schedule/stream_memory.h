#pragma once

// Peak memory of stream semantics (simulator/README.md, "Memory in S, by issue order"): the device
// of each buffer, and the ops at which it is allocated and released. It does not depend on times,
// so it can be counted in a loop over the ops in issue order. Two loops do so: the simulator's
// stream engine, for every placement that a search evaluates, and the executor's plan, for the
// program that it issues.
//
//   memory.Begin(graph, device);
//   for every op, in issue order:
//     memory.Allocate(graph, position);
//     for every item of the op: memory.Make(graph, item, position);
//                               memory.Receive(graph, item, e);    // for every other device e that
//     memory.Release(graph, position);                             // reads it
//   memory.peak()
//
// Make() visits an item's readers in issue order. This gives for each device the position after
// which the item, or the copy received there, is released. The counter allocates its own memory
// once and reuses it in all steps.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/schedule/compiled_graph.h"

namespace emplace {

/// Counts one step after another. Not thread-safe. All calls take the graph that the constructor
/// got: the engine loops over the same graph, and with one reference instead of two the compiler
/// makes the loop as fast as inlined code.
class StreamMemory {
 public:
  /// @param graph  compiled in issue order
  StreamMemory(const CompiledGraph& graph, int num_devices);

  /// Starts a step: counts resident bytes and finds the lifetimes of buffers shared by aliases.
  /// @param device  [num_ops] by position, each less than num_devices; must outlive the step
  void Begin(const CompiledGraph& graph, const std::uint8_t* device);

  /// Starts the op at `position`: allocates its outputs and workspace, and frees the workspace.
  void Allocate(const CompiledGraph& graph, int position) {
    const int d = device_[position];
    used_[d] += graph.own_bytes[position];
    peak_[d] = std::max(peak_[d], used_[d] + graph.workspace[position]);
  }

  /// Finds the last uses of an item. Call it once for every item, when its producer is issued.
  /// @param position  of the producer
  /// @return mask of the devices on which it has a reader, which may include its producer's
  std::uint64_t Make(const CompiledGraph& graph, int item, int position) {
    int* last_use = &last_use_[size_t(item) * num_devices_];
    last_use[device_[position]] = position;
    std::uint64_t mask = 0;
    for (int r = graph.reader_begin[item]; r < graph.reader_begin[item + 1]; ++r) {
      const int reader = graph.readers[r], e = device_[reader];
      mask |= std::uint64_t{1} << e;
      last_use[e] = reader;  // readers ascend: the last one stays
    }
    return mask;
  }

  /// Allocates a copy of an item on device `e`, which is not the producer's.
  void Receive(const CompiledGraph& graph, int item, int e) {
    used_[e] += graph.items[item].bytes;
    peak_[e] = std::max(peak_[e], used_[e]);
  }

  /// Frees the buffers whose last user is the op at `position`. Call it after the op and the copies
  /// of its items have been issued.
  // It frees the inputs that no later op on its device reads, then unread outputs. There are no
  // branches on the placement, since they could not be predicted.
  void Release(const CompiledGraph& graph, int position) {
    const int d = device_[position];
    std::int64_t released = 0;
    for (int r = graph.read_begin[position]; r < graph.read_begin[position + 1]; ++r) {
      const int item = graph.reads[r];
      if (graph.items[item].alias_class >= 0) {
        ReleaseShared(graph, item, d, position);
        continue;
      }
      const std::int64_t local = -std::int64_t{device_[graph.items[item].producer] == d};
      const std::int64_t copy_bytes = graph.items[item].bytes;
      released += LastUseMask(item, d, position) &
                  (copy_bytes ^ (local & (copy_bytes ^ graph.items[item].released_bytes)));
    }
    for (int item = graph.item_begin[position]; item < graph.item_begin[position + 1]; ++item) {
      if (graph.items[item].alias_class >= 0) {
        ReleaseShared(graph, item, d, position);
        continue;
      }
      released += LastUseMask(item, d, position) & graph.items[item].released_bytes;
    }
    used_[d] -= released;
  }

  /// Returns the maximum number of bytes in use so far, including resident ones. [num_devices] [B]
  const std::vector<std::int64_t>& peak() const { return peak_; }

 private:
  // The buffer of a class of aliases on one device.
  struct Buffer {
    int last_use = -1;  // position; -1: never released, or released already
    std::int64_t bytes = 0;
  };

  // Returns all bits set if the op at `position` is the item's last user on its device, else 0.
  std::int64_t LastUseMask(int item, int d, int position) const {
    return -std::int64_t{last_use_[size_t(item) * num_devices_ + d] == position};
  }
  void FindSharedBuffers(const CompiledGraph& graph);
  void ReleaseShared(const CompiledGraph& graph, int item, int d, int position) {
    const int c = graph.items[item].alias_class;
    const bool local = device_[graph.items[item].producer] == d;
    // The received copy of an alias has its own buffer.
    if (!local && graph.alias_classes[c].root != item) {
      used_[d] -= LastUseMask(item, d, position) & graph.items[item].bytes;
      return;
    }
    if (graph.alias_classes[c].root < 0) return;
    const int index = local ? buffer_[item] : c * num_devices_ + d;
    Buffer& buffer = buffers_[index];
    if (buffer.last_use != position) return;
    buffer.last_use = -1;
    used_[index % num_devices_] -= buffer.bytes;
  }

  const int num_devices_;
  const std::uint8_t* device_ = nullptr;
  std::vector<int> last_use_;    // [num_items, num_devices] position of the last use on the device
  std::vector<int> buffer_;      // [num_items] index into buffers_, for items that share memory
  std::vector<Buffer> buffers_;  // [alias classes, num_devices]
  std::vector<int> storage_;
  std::vector<std::int64_t> used_, peak_;  // [num_devices] [B]
};

}  // namespace emplace
