#include "simulator/event_heap.h"

#include <algorithm>
#include <queue>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "simulator/memory_events.h"

namespace {

using namespace emplace;

TEST_CASE("the heap pops like the standard one, ranks break ties") {
  Rng rng(1);
  const auto later = [](const EventHeap::Entry& a, const EventHeap::Entry& b) {
    return a.time != b.time ? a.time > b.time : a.rank > b.rank;
  };
  EventHeap heap;
  std::priority_queue<EventHeap::Entry, std::vector<EventHeap::Entry>, decltype(later)> standard(
      later);
  std::uint64_t rank = 0;
  for (int i = 0; i < 20000; ++i) {
    if (standard.empty() || UniformInt(rng, 5) < 3) {
      const std::uint64_t high = UniformInt(rng, 2) == 0 ? std::uint64_t{1} << 63 : 0;
      const EventHeap::Entry entry{UniformInt(rng, 50), high | (rank++ * 7919 % 65536)};
      heap.Push(entry);
      standard.push(entry);
    } else {
      const auto popped = heap.Pop();
      REQUIRE(popped.time == standard.top().time);
      REQUIRE(popped.rank == standard.top().rank);
      standard.pop();
    }
    REQUIRE(heap.empty() == standard.empty());
  }
}

TEST_CASE("memory events: allocations come before releases at equal times") {
  MemoryEvents events;
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
      MemoryEvents events;
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
