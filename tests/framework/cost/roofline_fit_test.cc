#include "framework/cost/roofline_fit.h"

#include <span>
#include <vector>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("the typical rate is the median of the ops that multiply, weighted by their FLOPs") {
  std::vector<RooflineSample> samples = {
      {.flops = 1, .bytes = 8, .nanos = 0.5, .id = 3, .multiplies = true},   // 2 GFLOP/s
      {.flops = 1, .bytes = 8, .nanos = 1, .id = 1, .multiplies = true},     // 1 GFLOP/s
      {.flops = 100, .bytes = 8, .nanos = 1, .id = 2, .multiplies = false},  // does not count
      {.flops = 0, .bytes = 8, .nanos = 1, .id = 4, .multiplies = true}};    // nor does this
  CHECK(TypicalRate(samples).Without() == 1e9);  // the slower one has half of the 2 FLOP
  CHECK(TypicalRate(samples).Without(std::vector<int>{1}) == 2e9);
  CHECK(TypicalRate(samples).Without(std::vector<int>{3}) == 1e9);
  CHECK(TypicalRate(samples).Without(std::vector<int>{1, 3}) == 0);
  CHECK(TypicalRate(std::span<const RooflineSample>()).Without() == 0);
  samples.push_back({.flops = 3, .bytes = 8, .nanos = 1, .id = 5, .multiplies = true});
  CHECK(TypicalRate(samples).Without() == 3e9);  // the two slower ones have 2 of 5 FLOP
  CHECK(TypicalRate(samples).Without(std::vector<int>{5}) == 1e9);
}

}  // namespace
