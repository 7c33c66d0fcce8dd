#include "simulator/queue/event_queue.h"

#include <algorithm>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

constexpr EventQueue::Key kEmpty[] = {EventQueue::kNone};

TEST_CASE("the queue of wide keys pops least first") {
  Rng rng(1);
  WideEventQueue::Backlog backlog;
  backlog.Reset(std::vector<EventBacklog::Key>{3, 5, EventBacklog::kNone});
  WideEventQueue queue(backlog);
  std::set<__int128> standard{3, 5};
  for (int i = 0; i < 20000; ++i) {
    if (standard.empty() || UniformInt(rng, 5) < 3) {
      const __int128 key = static_cast<__int128>(UniformInt(rng, 50)) << 70 | i;
      if (standard.insert(key).second) queue.Push(key);
    } else {
      REQUIRE((queue.Pop() == *standard.begin()));
      standard.erase(standard.begin());
    }
  }
  for (; !standard.empty(); standard.erase(standard.begin())) {
    REQUIRE((queue.Pop() == *standard.begin()));
  }
  CHECK((queue.Pop() == WideEventQueue::kNone));
}

TEST_CASE("the queue pops least first, whether few keys wait or many") {
  Rng rng(2);
  EventBacklog backlog;
  for (const int usual : {1, 4, 7, 12, 40, 1000}) {  // keys that wait at a time
    std::set<EventQueue::Key> standard;
    std::vector<EventQueue::Key> sorted;
    for (int i = 0; i < usual / 2; ++i) sorted.push_back(3 * i);
    standard.insert(sorted.begin(), sorted.end());
    sorted.push_back(EventQueue::kNone);
    backlog.Reset(sorted);
    EventQueue queue(backlog);
    EventQueue::Key now = 0;
    for (int i = 0; i < 20000; ++i) {
      if (static_cast<int>(standard.size()) <= UniformInt(rng, 2 * usual)) {
        // Now and then below what was taken out: the queue does not rely on rising keys.
        const EventQueue::Key key = std::max<EventQueue::Key>(0, now - 20) + UniformInt(rng, 10000);
        if (standard.insert(key).second) queue.Push(key);
      } else {
        now = queue.Pop();
        REQUIRE(now == *standard.begin());
        standard.erase(standard.begin());
      }
    }
    for (; !standard.empty(); standard.erase(standard.begin())) {
      REQUIRE(queue.Pop() == *standard.begin());
    }
    CHECK(queue.Pop() == EventQueue::kNone);
    CHECK(queue.Pop() == EventQueue::kNone);
  }
}

TEST_CASE("keys handed back are found by the next queue") {
  Rng rng(3);
  EventBacklog backlog;
  backlog.Reset(kEmpty);
  std::set<EventQueue::Key> standard;
  for (int round = 0; round < 2000; ++round) {
    EventQueue queue(backlog);
    for (int i = UniformInt(rng, 24); i > 0; --i) {
      const EventQueue::Key key = UniformInt(rng, 100000);
      if (standard.insert(key).second) queue.Push(key);
    }
    for (int i = UniformInt(rng, 24); i > 0 && !standard.empty(); --i) {
      REQUIRE(queue.Pop() == *standard.begin());
      standard.erase(standard.begin());
    }
    queue.HandBack();
  }
}

TEST_CASE("keys of all sizes are popped in the order of their lowest 62 bits") {
  Rng rng(4);
  EventBacklog backlog;
  for (int round = 0; round < 200; ++round) {
    backlog.Reset(kEmpty);
    EventQueue queue(backlog);
    std::set<EventQueue::Key> standard;
    for (int i = UniformInt(rng, 100); i >= 0; --i) {
      const auto bits = static_cast<std::int64_t>(rng()) >> UniformInt(rng, 64);
      if (standard.insert(bits & ((EventQueue::Key{1} << 62) - 1)).second) queue.Push(bits);
    }
    for (const EventQueue::Key key : standard) REQUIRE(queue.Pop() == key);
    REQUIRE(queue.Pop() == EventQueue::kNone);
  }
}

}  // namespace
