#include "framework/bounds/set_rounding.h"

#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace emplace;

// One class of two devices, 1 and 2. Group 0 makes an item that group 2 reads, which takes 10.
std::vector<EqualDevices> TwoDevices(std::vector<Nanos> cost) {
  return {{.devices = {1, 2},
           .cost = std::move(cost),
           .items = {{.maker = 0, .pins = {0, 2}, .in = 10, .out = 10}}}};
}

TEST_CASE("the pair that shares a set most nearly by half is decided, those of an item first") {
  // 0 and 1 share 0.5 of their sets, 0 and 2 share 0.75.
  const std::vector<WeightedSet> sets = {{{0, {0, 1, 2}}, 0.5},
                                         {{0, {0, 2}}, 0.25},
                                         {{0, {0}}, 0.25},
                                         {{0, {1, 2}}, 0.25},
                                         {{0, {1}}, 0.25}};
  const std::vector<EqualDevices> linked = TwoDevices({1, 1, 1});
  const auto pair = PairToDecide(sets, linked);
  REQUIRE(pair);
  CHECK(pair->first == 0);
  CHECK(pair->second == 2);
  CHECK(pair->together);

  std::vector<EqualDevices> unlinked = linked;
  unlinked[0].items.clear();
  const auto any = PairToDecide(sets, unlinked);
  REQUIRE(any);
  CHECK(any->first == 0);
  CHECK(any->second == 1);
  CHECK_FALSE(any->together);  // 0.5 is not more than half

  CHECK_FALSE(PairToDecide(std::vector<WeightedSet>{{{0, {0, 1}}, 1}, {{0, {2}}, 1}}, linked));
}

TEST_CASE("sets are taken by weight and new groups, and the rest joins the least load") {
  const std::vector<EqualDevices> classes = TwoDevices({5, 5, 4, 3});
  // {0, 1} counts 2 x 0.6, then {1, 3} has one new group: 0.9. Group 2 costs 4 beside 0, and on the
  // other device 3 + 4 + 10 for the item.
  CHECK(RoundSets(std::vector<WeightedSet>{{{0, {1, 3}}, 0.5}, {{0, {0, 1}}, 0.6}}, classes) ==
        std::vector<DeviceIndex>{1, 1, 1, 2});
  // With its set taken first, weight 2, {1, 3} has the first device.
  CHECK(RoundSets(std::vector<WeightedSet>{{{0, {0, 1}}, 0.6}, {{0, {1, 3}}, 2}}, classes) ==
        std::vector<DeviceIndex>{2, 1, 2, 1});
}

TEST_CASE("a group without a device leaves no placement") {
  CHECK(RoundSets(std::vector<WeightedSet>{{{0, {0, 1}}, 1}}, TwoDevices({1, 1, kMaxNanos, 1}))
            .empty());
}

}  // namespace
