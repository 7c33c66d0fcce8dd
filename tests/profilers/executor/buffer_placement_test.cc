#include "profilers/executor/buffer_placement.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;
using Lists = std::vector<std::vector<int>>;

Buffer Piece(int device, std::int64_t bytes, std::vector<int> users, bool pinned = false) {
  return {.device = device, .bytes = bytes, .pinned = pinned, .users = std::move(users)};
}

TEST_CASE("buffers share bytes where the order keeps them apart") {
  // Commands 0 and 2 on stream 0, 1 on stream 1. The first buffer is used by 0 and 1, the second
  // filled by 2, which comes later, but may run before 1 unless it waits for it.
  const std::vector<int> streams{0, 1, 0};
  const std::vector<Buffer> buffers{Piece(0, 300, {0, 1}), Piece(0, 100, {2})};
  const CommandOrder order = OrderCommands(streams, 2, Lists(3), Lists(3));
  const BufferPlacement apart = PlaceBuffers(buffers, 1, streams, order);
  CHECK(apart.offsets == std::vector<std::int64_t>{0, 512});  // 300 takes two units of 256
  CHECK(apart.arena_bytes == std::vector<std::int64_t>{768});
  const CommandOrder waiting = OrderCommands(streams, 2, Lists{{}, {}, {1}}, Lists(3));
  const BufferPlacement shared = PlaceBuffers(buffers, 1, streams, waiting);
  CHECK(shared.offsets == std::vector<std::int64_t>{0, 0});
  CHECK(shared.arena_bytes == std::vector<std::int64_t>{512});
}

TEST_CASE("pinned buffers share with none, and devices and staging have arenas of their own") {
  const std::vector<int> streams{0, 0, 0};
  const CommandOrder order = OrderCommands(streams, 1, Lists(3), Lists(3));
  const std::vector<Buffer> buffers{Piece(0, 256, {0}, /*pinned=*/true),
                                    Piece(0, 256, {1}),
                                    Piece(0, 256, {2}),
                                    Piece(1, 10, {1}),
                                    Piece(kStaging, 257, {1, 2})};
  const BufferPlacement placement = PlaceBuffers(buffers, 2, streams, order);
  CHECK(placement.offsets[1] == placement.offsets[2]);
  CHECK(placement.offsets[0] != placement.offsets[1]);
  CHECK(placement.arena_bytes == std::vector<std::int64_t>{512, 256});
  CHECK(placement.staging_bytes == 512);
}

TEST_CASE("buffers that never live together share bytes, others do not") {
  // Lives: a [0, 2), b [1, 3), c [2, 4): only a and c never meet. Largest first: a 600 -> 0 (takes
  // 768), c 500 may lie there too, b 100 behind both at 768.
  const std::vector<std::int64_t> bytes{600, 100, 500};
  const ArenaLayout layout = LayOutArena(bytes, [](int a, int b) { return std::abs(a - b) == 1; });
  CHECK(layout.offsets == std::vector<std::int64_t>{0, 768, 0});
  CHECK(layout.bytes == 1024);
}

TEST_CASE("the smallest gap that fits is taken") {
  // 0, 1, 2 (1024 B each) live together; 3 (1024 B) and 4 (512 B) do not meet 1, 4 does not meet 3.
  const std::vector<std::int64_t> bytes{1024, 1024, 1024, 1024, 512, 0};
  const ArenaLayout layout = LayOutArena(bytes, [](int a, int b) {
    const auto [low, high] = std::minmax(a, b);
    return !(low == 1 && high >= 3) && !(low == 3 && high == 4);
  });
  CHECK(layout.offsets == std::vector<std::int64_t>{0, 1024, 2048, 1024, 1024, 0});
  CHECK(layout.bytes == 3 * 1024);
}

TEST_CASE("random lives: no overlap in conflict, aligned, never below the peak, rarely far above") {
  Rng rng(5);
  double total = 0, ideal = 0;
  for (int round = 0; round < 200; ++round) {
    const int count = 1 + UniformInt(rng, 60);
    std::vector<std::int64_t> bytes, begin, end;
    for (int i = 0; i < count; ++i) {
      bytes.push_back(UniformInt(rng, 20) * 256);
      begin.push_back(UniformInt(rng, 50));
      end.push_back(begin.back() + 1 + UniformInt(rng, 10));
    }
    const auto meet = [&](int a, int b) { return begin[a] < end[b] && begin[b] < end[a]; };
    const ArenaLayout layout = LayOutArena(bytes, meet);
    std::int64_t peak = 0;
    for (int a = 0; a < count; ++a) {
      std::int64_t alive = 0;
      for (int b = 0; b < count; ++b) {
        if (begin[b] <= begin[a] && begin[a] < end[b]) alive += bytes[b];
        if (a == b || !meet(a, b) || bytes[a] == 0 || bytes[b] == 0) continue;
        REQUIRE((layout.offsets[a] + bytes[a] <= layout.offsets[b] ||
                 layout.offsets[b] + bytes[b] <= layout.offsets[a]));
      }
      peak = std::max(peak, alive);
      REQUIRE(layout.offsets[a] % 256 == 0);
      REQUIRE(layout.offsets[a] + bytes[a] <= layout.bytes);
    }
    REQUIRE(layout.bytes >= peak);
    total += static_cast<double>(layout.bytes);
    ideal += static_cast<double>(peak);
  }
  CHECK(total < 1.1 * ideal);
}

}  // namespace
