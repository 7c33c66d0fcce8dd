#include "profilers/measure/apart_times.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;

// On d0 op a from 0 to 100, then a copy from 100 to 130; on d1 op b from 20 to 60 and op c from 60
// to 120.
TracedSteps Steps(bool are_neighbors) {
  TracedPlacement traced;
  traced.subjects = {{"k", "matmul", "a", 0},
                     {"k", "matmul", "b", 0},
                     {"k", "update", "c", 7},
                     {"k", "transfer", "", 8}};
  traced.neighbors = {are_neighbors ? 2u : 0u, are_neighbors ? 1u : 0u};
  traced.steps = {{{{0, 0, 100}, {3, 100, 130}}, {{1, 20, 60}, {2, 60, 120}}}};
  return {std::make_shared<const TracedPlacement>(std::move(traced))};
}

CostTable Figures() {
  CostTable table;
  KindCosts costs{.kind = {.name = "k"}};
  costs.kind.interference["matmul"] = {0, 1024};
  costs.kind.interference["update"] = {1024, 3072};
  costs.kind.interference["transfer"] = {1024, 1024};
  costs.ops.push_back({.signature = "a", .interference = Interference{1024, 0}});
  table.kinds.push_back(std::move(costs));
  return table;
}

TEST_CASE("without neighbours everything took as long as it took") {
  const auto times = ApartTimes(Steps(false), Figures());
  REQUIRE(times.size() == 3);
  CHECK(times.at({"k", "a"}) == ApartTimesOfOp{{0, {100}}});
  CHECK(times.at({"k", "b"}) == ApartTimesOfOp{{0, {40}}});
  CHECK(times.at({"k", "c"}) == ApartTimesOfOp{{7, {60}}});
}

TEST_CASE("beside neighbours less was done than the time says") {
  const auto times = ApartTimes(Steps(true), Figures());
  // a: 20 alone, 40 at 1/2 beside b, 40 at 1/4 beside c. b suffers nothing. c: 40 beside a, whose
  // own figures press nobody, and 20 at 1/2 beside the copy.
  CHECK(times.at({"k", "a"}) == ApartTimesOfOp{{0, {20 + 20 + 10}}});
  CHECK(times.at({"k", "b"}) == ApartTimesOfOp{{0, {40}}});
  CHECK(times.at({"k", "c"}) == ApartTimesOfOp{{7, {40 + 10}}});
}

}  // namespace
