#include "framework/bounds/load_limit.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

constexpr Nanos kWhole = 64;

// Returns the bound for sets that are listed; kMaxNanos if all have too much load.
Nanos Bound(const std::vector<CutSet>& sets, Nanos room) {
  const auto least_set = [&](Nanos p) {
    return std::ranges::min(
        sets, {}, [&](const CutSet& set) { return kWhole * set.transfers + p * set.cost; });
  };
  CutSet within = least_set(kWhole), beyond = least_set(0);
  if (within.load() > room) return kMaxNanos;
  if (beyond.load() <= room) return beyond.transfers;
  return TransfersWithin(room, kWhole, least_set, within, beyond);
}

TEST_CASE("the least transfers within a load, by hand") {
  // Cost and transfers. At the factor (9 - 1) / (20 - 4) = 1/2 the first and the last set have 11,
  // the second one has 12. A load of at most 16: t >= (11 - 16 / 2) / (1 - 1/2) = 6.
  const std::vector<CutSet> sets{{{}, 4, 9}, {{}, 10, 7}, {{}, 20, 1}};
  CHECK(Bound(sets, 16) == 6);
  CHECK(Bound(sets, 13) == 9);  // (11 - 13 / 2) * 2
  CHECK(Bound(sets, 12) == kMaxNanos);
  CHECK(Bound(sets, 21) == 1);
  // A set below the line of the two others replaces one of them.
  CHECK(Bound({{{}, 4, 9}, {{}, 10, 4}, {{}, 20, 1}}, 16) == 4);
}

TEST_CASE("no set within the load has less, and the best factor is found") {
  Rng rng(5);
  int positive = 0;
  for (int trial = 0; trial < 300 * EMPLACE_TEST_SCALE; ++trial) {
    std::vector<CutSet> sets;
    for (int i = UniformInt(rng, 8); i >= 0; --i) {
      sets.push_back({{}, UniformInt(rng, 60), UniformInt(rng, 30)});
    }
    const Nanos room = UniformInt(rng, 80);
    Nanos least = kMaxNanos, best = 0;
    for (const CutSet& set : sets) {
      if (set.load() <= room) least = std::min(least, set.transfers);
    }
    for (Nanos p = 0; p < kWhole; ++p) {  // by the rule of the header
      Nanos over = kMaxNanos;
      for (const CutSet& set : sets) {
        over = std::min(over, kWhole * set.transfers + p * (set.cost - room));
      }
      if (over > 0) best = std::max(best, (over - 1) / (kWhole - p) + 1);
    }
    const Nanos bound = Bound(sets, room);
    CHECK(bound <= least);
    if (bound == kMaxNanos) continue;
    CHECK(bound <= best);
    CHECK(bound >= best - 2);  // factors are rounded
    positive += bound > 0;
  }
  CHECK(positive > 100);
}

}  // namespace
