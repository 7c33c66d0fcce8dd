#include "profilers/executor/buffer_placement.h"

#include <algorithm>
#include <map>

#include "profilers/executor/arena.h"

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

  bool AreApartInIssueOrder(int old, int fresh) const {
    const Buffer &x = buffers_[old], &y = buffers_[fresh];
    return !x.pinned && !y.pinned && x.users.back() < y.users.front();
  }
  // By the order of commands alone, without additional waits.
  bool AreApart(int old, int fresh) const {
    if (!AreApartInIssueOrder(old, fresh)) return false;
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

BufferPlacement PlaceBuffers(std::span<const Buffer> buffers,
                             int num_devices,
                             std::span<const int> stream_of_command,
                             const CommandOrder& order,
                             MemoryReuse reuse) {
  const Lives lives(buffers, stream_of_command, order);
  const bool tight = reuse == MemoryReuse::kTight;
  BufferPlacement placement;
  placement.offsets.assign(buffers.size(), 0);
  placement.waits.resize(stream_of_command.size());
  for (int device = kStaging; device < num_devices; ++device) {
    std::vector<int> here;
    std::vector<std::int64_t> bytes;
    for (int b = 0; b < std::ssize(buffers); ++b) {
      if (buffers[b].device != device) continue;
      here.push_back(b);
      bytes.push_back(buffers[b].bytes);
    }
    const auto are_apart = [&](int old, int fresh) {
      return tight ? lives.AreApartInIssueOrder(old, fresh) : lives.AreApart(old, fresh);
    };
    const ArenaLayout layout = LayOutArena(bytes, [&](int i, int j) {
      return !are_apart(here[i], here[j]) && !are_apart(here[j], here[i]);
    });
    for (size_t i = 0; i < here.size(); ++i) placement.offsets[here[i]] = layout.offsets[i];
    if (device == kStaging) {
      placement.staging_bytes = layout.bytes;
    } else {
      placement.arena_bytes.push_back(layout.bytes);
    }
    if (!tight) continue;
    const auto begin = [&](int b) { return placement.offsets[b]; };
    const auto end = [&](int b) { return placement.offsets[b] + buffers[b].bytes; };
    for (int fresh : here) {
      for (int old : here) {
        const bool overlap = begin(old) < end(fresh) && begin(fresh) < end(old);
        if (!overlap || !lives.AreApartInIssueOrder(old, fresh)) continue;
        auto& needed = placement.waits[buffers[fresh].users.front()];
        needed.insert(needed.end(), buffers[old].users.begin(), buffers[old].users.end());
      }
    }
  }
  return placement;
}

}  // namespace emplace
