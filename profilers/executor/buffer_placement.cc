#include "profilers/executor/buffer_placement.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace emplace {
namespace {

// Decides whether all uses of a buffer come before another buffer is filled.
class Lives {
 public:
  Lives(std::span<const Buffer> buffers,
        std::span<const int> stream_of_command,
        const CommandOrder& order)
      : buffers_(buffers), order_(order), fences_(buffers.size()) {
    for (size_t b = 0; b < buffers.size(); ++b) {
      for (int user : buffers[b].users) {
        int& finished = fences_[b][stream_of_command[user]];
        finished = std::max(finished, order.position[user] + 1);
      }
    }
  }

  bool AreApart(int old, int fresh) const {
    const Buffer &x = buffers_[old], &y = buffers_[fresh];
    if (x.pinned || y.pinned || x.users.back() >= y.users.front()) return false;
    const StreamClock& known = order_.done[buffers_[fresh].users.front()];
    return std::ranges::all_of(
        fences_[old], [&](const auto& entry) { return known[entry.first] >= entry.second; });
  }

 private:
  const std::span<const Buffer> buffers_;
  const CommandOrder& order_;
  // [buffers] stream -> number of its commands that have finished after all uses
  std::vector<std::map<int, int>> fences_;
};

}  // namespace

ArenaLayout LayOutArena(std::span<const std::int64_t> bytes,
                        const std::function<bool(int, int)>& in_conflict) {
  const auto aligned = [&](int buffer) {
    return (bytes[buffer] + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  };
  std::vector<int> by_size(bytes.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::stable_sort(by_size, std::greater<>(), [&](int b) { return bytes[b]; });

  ArenaLayout layout;
  layout.offsets.assign(bytes.size(), 0);
  std::vector<int> placed;  // by ascending offset
  for (int buffer : by_size) {
    const std::int64_t need = aligned(buffer);
    if (need == 0) continue;
    std::int64_t end = 0;  // largest end of the conflicting buffers so far
    std::int64_t best = -1, best_gap = 0;
    for (int other : placed) {
      const std::int64_t begin = layout.offsets[other];
      // An `other` that ends before `end` leaves no gap after it.
      if (begin + aligned(other) <= end || !in_conflict(buffer, other)) continue;
      const std::int64_t gap = begin - end;
      if (gap >= need && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, begin + aligned(other));
    }
    layout.offsets[buffer] = best >= 0 ? best : end;
    layout.bytes = std::max(layout.bytes, layout.offsets[buffer] + need);
    const auto behind = std::ranges::upper_bound(
        placed, layout.offsets[buffer], {}, [&](int b) { return layout.offsets[b]; });
    placed.insert(behind, buffer);
  }
  return layout;
}

BufferPlacement PlaceBuffers(std::span<const Buffer> buffers,
                             int num_devices,
                             std::span<const int> stream_of_command,
                             const CommandOrder& order) {
  const Lives lives(buffers, stream_of_command, order);
  BufferPlacement placement;
  placement.offsets.assign(buffers.size(), 0);
  for (int device = kStaging; device < num_devices; ++device) {
    std::vector<int> here;
    std::vector<std::int64_t> bytes;
    for (int b = 0; b < std::ssize(buffers); ++b) {
      if (buffers[b].device != device) continue;
      here.push_back(b);
      bytes.push_back(buffers[b].bytes);
    }
    const ArenaLayout layout = LayOutArena(bytes, [&](int i, int j) {
      return !lives.AreApart(here[i], here[j]) && !lives.AreApart(here[j], here[i]);
    });
    for (size_t i = 0; i < here.size(); ++i) placement.offsets[here[i]] = layout.offsets[i];
    if (device == kStaging) {
      placement.staging_bytes = layout.bytes;
    } else {
      placement.arena_bytes.push_back(layout.bytes);
    }
  }
  return placement;
}

}  // namespace emplace
