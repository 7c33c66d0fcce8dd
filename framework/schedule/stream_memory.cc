#include "framework/schedule/stream_memory.h"

#include <bit>

namespace emplace {

StreamMemory::StreamMemory(const CompiledGraph& graph, int num_devices)
    : num_devices_(num_devices),
      last_use_(size_t(graph.num_items) * num_devices),
      buffer_(graph.num_items, -1),
      buffers_(graph.alias_classes.size() * num_devices),
      used_(num_devices, 0),
      peak_(num_devices, 0) {
}

void StreamMemory::Begin(const CompiledGraph& graph, const std::uint8_t* device) {
  device_ = device;
  std::fill(used_.begin(), used_.end(), 0);
  graph.AddResidentBytes(device, used_.data());
  std::copy(used_.begin(), used_.end(), peak_.begin());
  FindSharedBuffers(graph);
}

// Finds the buffers of the aliases, and the op after which each is released: the last op that makes
// or reads an item in it.
void StreamMemory::FindSharedBuffers(const CompiledGraph& graph) {
  const auto extend = [](Buffer& buffer, int position) {
    buffer.last_use = std::max(buffer.last_use, position);
  };
  for (size_t c = 0; c < graph.alias_classes.size(); ++c) {
    const auto& shared = graph.alias_classes[c];
    if (shared.root < 0) continue;  // a graph input, which is resident
    const std::uint64_t pinned = graph.PlaceAliases(shared, device_, storage_);
    const int row = static_cast<int>(c) * num_devices_;
    const auto& root = graph.items[shared.root];
    const int home = device_[root.producer];
    for (int e = 0; e < num_devices_; ++e) {
      buffers_[row + e] = {-1, e == home ? root.held : root.bytes};
    }
    buffer_[shared.root] = row + home;
    extend(buffers_[row + home], root.producer);
    for (int r = graph.reader_begin[shared.root]; r < graph.reader_begin[shared.root + 1]; ++r) {
      extend(buffers_[row + device_[graph.readers[r]]], graph.readers[r]);
    }
    for (size_t i = 0; i < shared.members.size(); ++i) {
      const int item = shared.members[i], producer = graph.items[item].producer;
      buffer_[item] = row + storage_[i];
      Buffer& buffer = buffers_[buffer_[item]];
      extend(buffer, producer);
      for (int r = graph.reader_begin[item]; r < graph.reader_begin[item + 1]; ++r) {
        if (device_[graph.readers[r]] == device_[producer]) extend(buffer, graph.readers[r]);
      }
    }
    for (std::uint64_t m = pinned; m != 0; m &= m - 1) {
      buffers_[row + std::countr_zero(m)].last_use = -1;
    }
  }
}

}  // namespace emplace
