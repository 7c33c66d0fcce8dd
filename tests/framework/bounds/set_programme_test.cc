#include "framework/bounds/set_programme.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace {

using namespace emplace;

bool Obeys(const std::vector<PairDecision>& pairs, const std::vector<char>& within) {
  return std::ranges::all_of(pairs, [&](const PairDecision& pair) {
    return pair.together ? within[pair.first] == within[pair.second]
                         : !(within[pair.first] && within[pair.second]);
  });
}

TEST_CASE("the set of largest value is that of all sets") {
  Rng rng(5);
  for (int trial = 0; trial < 300 * EMPLACE_TEST_SCALE; ++trial) {
    const int n = 2 + UniformInt(rng, 7);
    EqualDevices devices{.devices = {0}, .cost = {}, .items = {}};
    std::vector<SetValue> value;
    for (int g = 0; g < n; ++g) {
      devices.cost.push_back(UniformInt(rng, 8) == 0 ? kMaxNanos : 1 + UniformInt(rng, 9));
      value.push_back(1'000'000 * (UniformInt(rng, 12) - 2));
    }
    for (int i = 0; i < n; ++i) {
      PaidItem item{UniformInt(rng, n), {}, 0, 0};
      for (int g = 0; g < n; ++g) {
        if (g == item.maker || UniformInt(rng, 3) == 0) item.pins.push_back(g);
      }
      item.in = UniformInt(rng, 4);
      item.out = UniformInt(rng, 4);
      if (item.pins.size() > 1) devices.items.push_back(item);
    }
    std::vector<PairDecision> pairs;
    for (int i = UniformInt(rng, 4); i > 0; --i) {
      const int a = UniformInt(rng, n), b = UniformInt(rng, n);
      if (a != b) pairs.push_back({a, b, UniformInt(rng, 2) == 0});
    }
    const Nanos period = 5 + UniformInt(rng, 20);
    SetValue most = 0;
    for (int set = 0; set < 1 << n; ++set) {
      std::vector<char> within(n);
      SetValue sum = 0;
      bool allowed = true;
      for (int g = 0; g < n; ++g) {
        within[g] = static_cast<char>(set >> g & 1);
        allowed = allowed && !(within[g] && devices.cost[g] >= kMaxNanos);
        sum += within[g] ? value[g] : 0;
      }
      if (allowed && Obeys(pairs, within) && devices.Load(within) <= period) {
        most = std::max(most, sum);
      }
    }
    SetProgramme programme(devices, period + 1, pairs);
    REQUIRE(programme.usable());
    for (const bool quick : {false, true}) {
      const auto best = programme.Find(value, period, 0, quick, [] { return false; });
      REQUIRE(best);
      CHECK(best->value == most);
      if (most == 0) continue;
      REQUIRE_FALSE(best->sets.empty());
      std::vector<char> within(n, 0);
      SetValue sum = 0;
      for (const int g : best->sets[0]) {
        within[g] = 1;
        sum += value[g];
      }
      CHECK(sum == most);
      CHECK(devices.Load(within) <= period);
      CHECK(Obeys(pairs, within));
    }
  }
}

}  // namespace
