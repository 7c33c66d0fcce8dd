#include "simulator/engine/memory_events.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

TEST_CASE("allocations come before releases at equal times") {
  MemoryEvents events(2, 4);
  auto writer = events.Begin(10);
  writer.Release(10, 0, 100);
  writer.Allocate(10, 0, 7);
  writer.Allocate(0, 0, 100);
  writer.Allocate(3, 1, 5);
  std::vector<std::int64_t> peak;
  events.Sweep(writer, {1000, 0}, peak);
  CHECK(peak == std::vector<std::int64_t>{1107, 5});
}

TEST_CASE("what is in use at first counts, and events of 0 bytes do not") {
  MemoryEvents events(3, 4);
  auto writer = events.Begin(5);
  writer.Release(1, 0, 10);
  writer.Allocate(2, 0, 4);
  writer.Allocate(4, 2, 0);
  writer.Release(5, 2, 0);
  std::vector<std::int64_t> peak;
  events.Sweep(writer, {10, 20, 30}, peak);
  CHECK(peak == std::vector<std::int64_t>{10, 20, 30});
}

TEST_CASE("many events equal a plain count per instant") {
  Rng rng(2);
  // A capacity above the number of events makes bins that hold few of them, and the reverse.
  for (const int capacity : {3000, 100'000}) {
    MemoryEvents events(3, capacity);
    for (const int count : {1, 10, 300, 1500}) {
      for (const Nanos span : {Nanos{1}, Nanos{3}, Nanos{40}, Nanos{5000}, kMaxNanos - 1}) {
        struct Life {
          Nanos begin, end;
          int device;
          std::int64_t bytes;
        };
        std::vector<Life> lives;
        auto writer = events.Begin(span);
        for (int i = 0; i < count; ++i) {
          const auto draw = [&] {
            return static_cast<Nanos>(Uniform01(rng) * static_cast<double>(span));
          };
          const auto [begin, end] = std::minmax({draw(), draw()});
          // Mostly short lives, so that the peak is not in the middle of all.
          const Life life{begin, i % 5 == 0 ? end : begin, UniformInt(rng, 3), UniformInt(rng, 9)};
          lives.push_back(life);
          writer.Allocate(life.begin, life.device, life.bytes);
          writer.Release(life.end, life.device, life.bytes);
        }
        const std::vector<std::int64_t> used{0, 7, 1};
        std::vector<std::int64_t> expected = used, peak;
        for (const Life& at : lives) {  // peaks happen when something begins
          std::int64_t alive = used[at.device];
          for (const Life& life : lives) {
            if (life.device == at.device && life.begin <= at.begin && at.begin <= life.end) {
              alive += life.bytes;
            }
          }
          expected[at.device] = std::max(expected[at.device], alive);
        }
        events.Sweep(writer, used, peak);
        CHECK(peak == expected);
      }
    }
  }
}

}  // namespace
