#include "profilers/executor/buffer_placement.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;
using Lists = std::vector<std::vector<int>>;

Buffer Piece(int device, std::int64_t bytes, std::vector<int> users, bool pinned = false) {
  return {.device = device, .bytes = bytes, .pinned = pinned, .users = std::move(users)};
}

TEST_CASE("buffers share bytes where the order keeps them apart, or where waits can") {
  // Commands 0 and 2 on stream 0, 1 on stream 1; nobody waits for anybody. The first buffer is used
  // by 0 and 1, the second filled by 2, which comes later, but may run before 1.
  const std::vector<int> streams{0, 1, 0};
  const std::vector<Buffer> buffers{Piece(0, 300, {0, 1}), Piece(0, 100, {2})};
  const CommandOrder order = OrderCommands(streams, 2, Lists(3), Lists(3));
  const BufferPlacement loose = PlaceBuffers(buffers, 1, streams, order, MemoryReuse::kNoWaits);
  CHECK(loose.offsets == std::vector<std::int64_t>{0, 512});  // 300 takes two units of 256
  CHECK(loose.arena_bytes == std::vector<std::int64_t>{768});
  CHECK(loose.waits == Lists(3));
  const BufferPlacement tight = PlaceBuffers(buffers, 1, streams, order, MemoryReuse::kTight);
  CHECK(tight.offsets == std::vector<std::int64_t>{0, 0});
  CHECK(tight.arena_bytes == std::vector<std::int64_t>{512});
  CHECK(tight.waits == Lists{{}, {}, {0, 1}});
  // With that wait the order alone keeps them apart.
  const CommandOrder waiting = OrderCommands(streams, 2, Lists(3), Lists(3), tight.waits);
  CHECK(waiting.waits == Lists{{}, {}, {1}});
  const BufferPlacement same = PlaceBuffers(buffers, 1, streams, waiting, MemoryReuse::kNoWaits);
  CHECK(same.arena_bytes == std::vector<std::int64_t>{512});
}

TEST_CASE("pinned buffers share with none, and devices and staging have arenas of their own") {
  const std::vector<int> streams{0, 0, 0};
  const CommandOrder order = OrderCommands(streams, 1, Lists(3), Lists(3));
  const std::vector<Buffer> buffers{Piece(0, 256, {0}, /*pinned=*/true),
                                    Piece(0, 256, {1}),
                                    Piece(0, 256, {2}),
                                    Piece(1, 10, {1}),
                                    Piece(kStaging, 257, {1, 2})};
  for (MemoryReuse reuse : {MemoryReuse::kNoWaits, MemoryReuse::kTight}) {
    const BufferPlacement placement = PlaceBuffers(buffers, 2, streams, order, reuse);
    CHECK(placement.offsets[1] == placement.offsets[2]);
    CHECK(placement.offsets[0] != placement.offsets[1]);
    CHECK(placement.arena_bytes == std::vector<std::int64_t>{512, 256});
    CHECK(placement.staging_bytes == 512);
  }
}

}  // namespace
