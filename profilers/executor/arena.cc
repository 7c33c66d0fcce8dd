#include "profilers/executor/arena.h"

#include <algorithm>
#include <numeric>

#include "profilers/executor/plan.h"

namespace emplace {

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

}  // namespace emplace
