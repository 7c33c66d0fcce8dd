#include "experiments/sweep/sweep_draw.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::vector<double> Numbers(const std::string& range, int count, std::uint64_t seed = 3) {
  std::vector<double> numbers;
  for (const auto& choices :
       DrawChoices(ConfigNode::FromString("{key: " + range + "}", "s.yaml"), count, seed)) {
    REQUIRE(choices.size() == 1);
    CHECK(choices[0].first == "key");
    numbers.push_back(choices[0].second.AsDouble());
  }
  return numbers;
}

TEST_CASE("whole numbers are even over their range, both ends included") {
  std::map<double, int> counts;
  for (const double number : Numbers("{int: [2, 5]}", 4000)) ++counts[number];
  REQUIRE(counts.size() == 4);
  CHECK(counts.begin()->first == 2);
  CHECK(counts.rbegin()->first == 5);
  // A quarter of 4000 with a standard deviation of sqrt(4000 * 1/4 * 3/4) = 27; five of them.
  for (const auto& [number, count] : counts) CHECK(std::abs(count - 1000) < 135);
}

TEST_CASE("log: every factor is as likely") {
  // Half of the draws lie below the geometric mean of the ends, sqrt(1e-4 * 1) = 0.01; the
  // standard deviation of their number is sqrt(2000) / 2 = 22.
  int below = 0;
  for (const double number : Numbers("{float: [1e-4, 1], log: true}", 2000)) {
    CHECK(number >= 1e-4);
    CHECK(number <= 1);
    below += number < 0.01 ? 1 : 0;
  }
  CHECK(std::abs(below - 1000) < 112);
  // Cells [1, 2) and [2, 4) of whole numbers from 1 to 3: log 2 / log 4 = a half are 1.
  int ones = 0;
  for (const double number : Numbers("{int: [1, 3], log: true}", 2000)) ones += number == 1 ? 1 : 0;
  CHECK(std::abs(ones - 1000) < 112);
}

TEST_CASE("choices may be anything; the first draws do not depend on the count") {
  const ConfigNode draw =
      ConfigNode::FromString("{a: {choice: [x, [1, 2]]}, b: {float: [0, 1]}}", "s.yaml");
  std::set<std::string> dumps;
  const auto many = DrawChoices(draw, 50, 7), few = DrawChoices(draw, 10, 7);
  for (size_t i = 0; i < many.size(); ++i) {
    REQUIRE(many[i].size() == 2);
    dumps.insert(many[i][0].second.Dump());
    if (i >= few.size()) continue;
    for (int key = 0; key < 2; ++key) {
      CHECK(few[i][key].second.Dump() == many[i][key].second.Dump());
    }
  }
  CHECK(dumps.size() == 2);
  CHECK(DrawChoices(draw, 1, 8)[0][1].second.Dump() != many[0][1].second.Dump());
  CHECK(DrawChoices(ConfigNode::FromString("{}", "s.yaml"), 5, 0).empty());
}

TEST_CASE("mistakes are named with their place") {
  const auto refusal = [](const std::string& range) {
    return MessageOf<InputError>([&] { Numbers(range, 1); });
  };
  for (const std::string range : {"5", "{}", "{int: [1, 2], float: [1, 2]}", "[1, 2]"}) {
    CHECK(Contains(refusal(range), "s.yaml:1:7: key: expected {int: [LOW, HIGH]}, {float"));
  }
  CHECK(Contains(refusal("{int: [3, 1]}"), "key.int: expected a low end that is at most"));
  CHECK(Contains(refusal("{int: [1, 2, 3]}"), "key.int: expected [LOW, HIGH]"));
  CHECK(Contains(refusal("{int: [1.5, 3]}"), "1.5"));
  CHECK(Contains(refusal("{float: [a, 3]}"), "\"a\""));
  CHECK(Contains(refusal("{int: [1, 10000000000000000]}"), "at most 2^53"));
  CHECK(Contains(refusal("{int: [0, 3], log: true}"), "above 0, because log is true"));
  CHECK(Contains(refusal("{int: [1, 3], lgo: true}"), "did you mean \"log\""));
  CHECK(Contains(refusal("{choice: []}"), "key.choice: expected at least one value"));
  CHECK(Contains(refusal("{choice: [1], log: true}"), "log"));
}

}  // namespace
