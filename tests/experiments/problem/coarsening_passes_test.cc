#include "experiments/problem/coarsening_passes.h"

#include <string>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("a list of passes is written as it is read") {
  const std::string text =
      "[colocate, gradients, single_consumer: {max_share: 0.1}, scope: {depth: 2}, "
      "merge_cheapest: {groups: 5}, heavy_edge: {groups: 6}]";
  CHECK(FormatPasses(ParsePasses(ConfigNode::FromString(text, "test"))) == text);
  // Settings that were left open are written with their defaults.
  CHECK(FormatPasses(ParsePasses(ConfigNode::FromString("[scope]", "test"))) ==
        "[scope: {depth: 1}]");
  CHECK(FormatPasses({}) == "[]");
  CHECK(ParsePasses(ConfigNode::FromString("[]", "test")).empty());
}

}  // namespace
