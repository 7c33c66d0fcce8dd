#include "experiments/plan/plan_stages.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/random.h"

using namespace emplace;

namespace {

/// Returns the time of the slowest stage; kMaxNanos if one is impossible.
Nanos SlowestOf(const Stages& stages, const StageTime& time) {
  Nanos slowest = 0;
  const int count = static_cast<int>(stages.end.size());
  for (int s = 0; s < count; ++s) {
    slowest = std::max(slowest,
                       time({.begin = s > 0 ? stages.end[s - 1] : 0,
                             .end = stages.end[s],
                             .device = stages.device[s],
                             .next = s + 1 < count ? stages.device[s + 1] : -1,
                             .following = count - 1 - s}));
  }
  return slowest;
}

TEST_CASE("balanced stages are the best of all stages") {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const int layers = 1 + UniformInt(rng, 5);
    const std::vector<std::vector<int>> classes =
        round % 2 == 0 ? std::vector<std::vector<int>>{{0, 2}, {1, 3}}
                       : std::vector<std::vector<int>>{{0, 1, 2}, {3}};
    const std::vector<int> class_of =
        round % 2 == 0 ? std::vector<int>{0, 1, 0, 1} : std::vector<int>{0, 0, 0, 1};
    std::vector<std::vector<Nanos>> work(2);
    for (int l = 0; l < layers; ++l) {
      for (std::vector<Nanos>& of : work) of.push_back(1 + UniformInt(rng, 20));
    }
    const Nanos most = 15 + UniformInt(rng, 60), message = UniformInt(rng, 10);
    const StageTime time = [&](const StageChoice& stage) {
      Nanos sum = 0;
      for (int l = stage.begin; l < stage.end; ++l) sum += work[class_of[stage.device]][l];
      // As memory of micro-batches in flight, the work of early stages is limited.
      if (sum > most / (1 + stage.following)) return kMaxNanos;
      return sum +
             (stage.next >= 0 && class_of[stage.next] != class_of[stage.device] ? message : 0);
    };
    const std::vector<BalancedStages> balanced = BalanceStages(layers, classes, time);
    REQUIRE(std::ssize(balanced) == std::min(layers, 4));
    for (int count = 1; count <= std::ssize(balanced); ++count) {
      Nanos least = kMaxNanos;
      for (const Stages& stages : AllStages(layers, {0, 1, 2, 3}, count, {0, 1, 2, 3}, 1000)) {
        least = std::min(least, SlowestOf(stages, time));
      }
      CHECK(balanced[count - 1].slowest == least);
      CHECK(balanced[count - 1].stages.end.empty() == (least == kMaxNanos));
      if (least < kMaxNanos) CHECK(SlowestOf(balanced[count - 1].stages, time) == least);
    }
  }
}

TEST_CASE("of equal devices, balanced stages use the first ones in their order") {
  const auto layers = [](const StageChoice& stage) { return Nanos{stage.end - stage.begin}; };
  CHECK(BalanceStages(4, {{2, 5, 6}}, layers)[1].stages == Stages{{2, 4}, {2, 5}});
  CHECK(EvenStages(5, {2, 5, 6}, 2) == Stages{{2, 5}, {2, 5}});
  CHECK(EvenStages(5, {2, 5, 6}, 2, 2) == Stages{{1, 2, 3, 5}, {2, 5, 2, 5}});
}

TEST_CASE("all stages, and the neighbours of some") {
  // Of 4 layers, 3 boundaries for 2 stages; 3 * 2 orders of different devices, one of equal ones.
  CHECK(AllStages(4, {0, 1, 2}, 2, {0, 1, 2}, 100).size() == 18);
  CHECK(AllStages(4, {0, 1, 2}, 2, {0, 0, 0}, 100).size() == 3);
  CHECK(AllStages(4, {0, 1, 2}, 2, {0, 0, 2}, 100).size() == 9);  // 0 1, 0 2, 2 0
  CHECK(AllStages(4, {0, 1, 2}, 2, {0, 1, 2}, 17).empty());
  // The boundary by one layer to either side; the exchange of both; 2 for 0 or for 1.
  const Stages stages{{2, 4}, {0, 1}};
  const std::vector<Stages> neighbors = NeighborsOf(stages, 4, {0, 1, 2}, {0, 1, 2});
  CHECK(neighbors == std::vector<Stages>{{{1, 4}, {0, 1}},
                                         {{3, 4}, {0, 1}},
                                         {{2, 4}, {1, 0}},
                                         {{2, 4}, {2, 1}},
                                         {{2, 4}, {0, 2}}});
  CHECK(NeighborsOf(stages, 4, {0, 1, 2}, {0, 0, 0}).size() == 2);
  // Two virtual stages on each device: of 5 layers, the longer one is one of 4.
  CHECK(AllStages(5, {0, 1, 2}, 2, {0, 1, 2}, 100, 2).size() == 4 * 6);
  const Stages interleaved{{2, 3, 4, 5}, {0, 1, 0, 1}};
  CHECK(interleaved.num_devices() == 2);
  CHECK(NeighborsOf(interleaved, 5, {0, 1, 2}, {0, 1, 2}) ==
        std::vector<Stages>{{{1, 3, 4, 5}, {0, 1, 0, 1}},
                            {{2, 3, 4, 5}, {1, 0, 1, 0}},
                            {{2, 3, 4, 5}, {2, 1, 2, 1}},
                            {{2, 3, 4, 5}, {0, 2, 0, 2}}});
}

TEST_CASE("many classes are too many for the dynamic program") {
  CHECK_FALSE(TooManyClasses({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}));
  CHECK(TooManyClasses({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}}));
}

}  // namespace
