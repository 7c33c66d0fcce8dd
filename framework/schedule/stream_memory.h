#pragma once

// Peak memory of stream semantics (simulator/README.md, "Memory in S, by issue order"): which
// buffer lives on which device, from which op to which. It depends on no time, so that whoever
// walks over the ops in issue order can count it on the way. Two do: the stream engine of the
// simulator, for every placement that a search asks for, and the executor's plan, for the program
// that it issues.
//
//   memory.Begin(graph, device);
//   for every op, in issue order:
//     memory.Allocate(graph, position);
//     for every item of the op: memory.Make(graph, item, position);
//                               memory.Receive(graph, item, e);    // for every other device e that
//     memory.Release(graph, position);                             // reads it
//   memory.peak()
//
// When an item is made, walking over its readers in issue order leaves on each device the position
// behind which the item, or the copy received there, is released. The counter's own buffers are
// made once and serve all steps.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/schedule/compiled_graph.h"

namespace emplace {

/// Counts one step after another. Not to be shared by threads. All calls take the graph that the
/// constructor got: the engine walks over the same graph, and a compiler that sees one reference
/// instead of two keeps the loop as fast as if everything were written in one place.
class StreamMemory {
 public:
  /// @param graph  compiled in issue order
  StreamMemory(const CompiledGraph& graph, int num_devices);

  /// Starts a step: resident bytes are counted, the lives of buffers that aliases share are found.
  /// @param device  [num_ops] by position, each less than num_devices; lives until the step's end
  void Begin(const CompiledGraph& graph, const std::uint8_t* device);

  /// The op at `position` starts: its outputs and workspace are taken, and the workspace given
  /// back.
  void Allocate(const CompiledGraph& graph, int position) {
    const int d = device_[position];
    used_[d] += graph.own_bytes[position];
    peak_[d] = std::max(peak_[d], used_[d] + graph.workspace[position]);
  }

  /// Finds the last uses of an item. To be called once for every item, when its producer is issued.
  /// @param position  of the producer
  /// @return mask of the devices on which it has a reader, its producer's perhaps among them
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

  /// Device `e`, which is not the producer's, makes room for its copy of an item.
  void Receive(const CompiledGraph& graph, int item, int e) {
    used_[e] += graph.items[item].bytes;
    peak_[e] = std::max(peak_[e], used_[e]);
  }

  /// The op at `position` and the copies of its items have been issued: every buffer whose last use
  /// it is goes.
  // Those are the inputs that no later op on its device reads, then its outputs that none does.
  // Free of branches on the placement, which no predictor could guess.
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

  /// Most bytes in use so far, resident ones included. [num_devices] [B]
  const std::vector<std::int64_t>& peak() const { return peak_; }

 private:
  // A buffer that aliases share: what a class of aliases has on one device.
  struct Buffer {
    int last_use = -1;  // position; -1: never released, or released already
    std::int64_t bytes = 0;
  };

  // All bits if the op at `position` is the last to use the item on its device, else none.
  std::int64_t LastUseMask(int item, int d, int position) const {
    return -std::int64_t{last_use_[size_t(item) * num_devices_ + d] == position};
  }
  void FindSharedBuffers(const CompiledGraph& graph);
  void ReleaseShared(const CompiledGraph& graph, int item, int d, int position) {
    const int c = graph.items[item].alias_class;
    const bool local = device_[graph.items[item].producer] == d;
    // The received copy of an alias is a buffer of its own.
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
  std::vector<int> last_use_;    // [num_items, num_devices] position of the last use there
  std::vector<int> buffer_;      // [num_items] index into buffers_, for items that share memory
  std::vector<Buffer> buffers_;  // [alias classes, num_devices]
  std::vector<int> storage_;
  std::vector<std::int64_t> used_, peak_;  // [num_devices] [B]
};

}  // namespace emplace
