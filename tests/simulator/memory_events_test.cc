#include "simulator/memory_events.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

TEST_CASE("memory events: allocations come before releases at equal times") {
  MemoryEvents events(2, 4);
  events.Release(10, 0, 100);
  events.Allocate(10, 0, 7);
  events.Allocate(0, 0, 100);
  events.Allocate(3, 1, 5);
  std::vector<std::int64_t> used{1000, 0}, peak;
  events.Sweep(used, peak);
  CHECK(peak == std::vector<std::int64_t>{1107, 5});
  CHECK(used == std::vector<std::int64_t>{1007, 5});
}

TEST_CASE("memory events: many of them, by radix, equal a plain count per instant") {
  Rng rng(2);
  for (const int count : {10, 300, 5000}) {
    for (const Nanos span : {Nanos{3}, Nanos{40}, kMaxNanos - 1}) {
      MemoryEvents events(4, 2 * size_t(count));
      std::vector<std::pair<Nanos, Nanos>> lives;
      for (int i = 0; i < count; ++i) {
        const auto draw = [&] {
          return static_cast<Nanos>(Uniform01(rng) * static_cast<double>(span));
        };
        const auto [begin, end] = std::minmax({draw(), draw()});
        lives.emplace_back(begin, end);
        events.Allocate(begin, 3, i + 1);
        events.Release(end, 3, i + 1);
      }
      std::int64_t expected = 0;
      const int stride = count > 300 ? 17 : 1;
      for (int i = 0; i < count; i += stride) {  // peaks happen when something begins
        std::int64_t alive = 0;
        for (int j = 0; j < count; ++j) {
          if (lives[j].first <= lives[i].first && lives[i].first <= lives[j].second) alive += j + 1;
        }
        expected = std::max(expected, alive);
      }
      std::vector<std::int64_t> used(4, 0), peak;
      events.Sweep(used, peak);
      CHECK(used[3] == 0);
      if (count <= 300) {
        CHECK(peak[3] == expected);
      } else {
        CHECK(peak[3] >= expected);  // only a sample of the instants was counted
      }
    }
  }
}

}  // namespace
