#include "agents/shared/idle_times.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "tests/support/death.h"

namespace {

using namespace emplace;

TEST_CASE("idle times: insertion into the first interval that is long enough") {
  IdleTimes idle;
  idle.Take(10, 10);  // idle: [0, 10), [20, ...)
  idle.Take(30, 5);   // idle: [0, 10), [20, 30), [35, ...)
  CHECK(idle.EarliestStart(0, 10) == 0);
  CHECK(idle.EarliestStart(1, 10) == 20);
  CHECK(idle.EarliestStart(0, 11) == 35);
  CHECK(idle.EarliestStart(25, 5) == 25);
  CHECK(idle.EarliestStart(25, 6) == 35);
  CHECK(idle.EarliestStart(30, 1) == 35);
  CHECK(idle.end() == 35);
  idle.Take(20, 10);  // idle: [0, 10), [35, ...)
  CHECK(idle.EarliestStart(5, 6) == 35);
  idle.Take(2, 3);  // idle: [0, 2), [5, 10), [35, ...)
  CHECK(idle.EarliestStart(1, 4) == 5);
}

TEST_CASE("idle times: what is taken is not idle") {
  IdleTimes idle;
  idle.Take(10, 10);
  const auto refusal = [&](Nanos start, Nanos duration) {
    return testing::MessageOfAbort([&] { idle.Take(start, duration); });
  };
  CHECK(refusal(5, 6).find("the interval is not idle") != std::string::npos);
  CHECK(refusal(15, 1).find("the interval is not idle") != std::string::npos);
}

/// Every interval looked at, one after the other.
class PlainIdleTimes {
 public:
  Nanos EarliestStart(Nanos ready, Nanos duration) const {
    for (const auto& [start, end] : idle_) {
      const Nanos at = std::max(ready, start);
      if (at < end && end - at >= duration) return at;
    }
    return -1;
  }
  void Take(Nanos start, Nanos duration) {
    const auto at = std::prev(idle_.upper_bound(start));
    const auto [from, to] = *at;
    idle_.erase(at);
    if (from < start) idle_[from] = start;
    if (start + duration < to) idle_[start + duration] = to;
  }
  Nanos end() const { return idle_.rbegin()->first; }

 private:
  std::map<Nanos, Nanos> idle_{{0, kMaxNanos}};
};

TEST_CASE("idle times: the same as a look at every interval") {
  Rng rng(8);
  for (int trial = 0; trial < 100; ++trial) {
    CAPTURE(trial);
    IdleTimes idle;
    PlainIdleTimes plain;
    // From few intervals, mostly filled, to many that stay.
    const int horizon = 10 << UniformInt(rng, 8), longest = 1 << UniformInt(rng, 6);
    for (int i = 0; i < 300; ++i) {
      const Nanos ready = UniformInt(rng, horizon), duration = 1 + UniformInt(rng, longest);
      const Nanos start = idle.EarliestStart(ready, duration);
      REQUIRE(start == plain.EarliestStart(ready, duration));
      if (UniformInt(rng, 4) == 0) continue;
      idle.Take(start, duration);
      plain.Take(start, duration);
      REQUIRE(idle.end() == plain.end());
    }
  }
}

TEST_CASE("idle times: many intervals that are too short cost next to nothing") {
  constexpr int kIntervals = 300'000;
  IdleTimes idle;
  for (int i = 0; i < kIntervals; ++i) idle.Take(10 * i + 4, 6);  // idle: 4 of every 10
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kIntervals; ++i) idle.Take(idle.EarliestStart(i, 5), 5);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CHECK(idle.end() == 10 * kIntervals + 5 * kIntervals);
  CHECK(seconds.count() < 30);  // one after the other: several minutes
}

}  // namespace
