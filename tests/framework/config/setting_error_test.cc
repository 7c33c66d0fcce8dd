#include "framework/config/setting_error.h"

#include <limits>

#include <doctest/doctest.h>

namespace {

using namespace emplace;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("setting error: key and message, together and apart") {
  const SettingError error("optimizer.method", "expected \"adam\", got \"adan\"");
  CHECK(error.key() == "optimizer.method");
  CHECK(error.message() == "expected \"adam\", got \"adan\"");
  CHECK(std::string(error.what()) == "optimizer.method: expected \"adam\", got \"adan\"");
}

TEST_CASE("settings: a range includes its ends") {
  for (double value : {-1.0, 0.0, 2.5}) CHECK_NOTHROW(RequireRange("rounds", value, -1, 2.5));
  CHECK_NOTHROW(RequireRange("rounds", 1e300, 0, kInfinity));
  CHECK_THROWS_WITH_AS(RequireRange("rounds", 3, -1, 2.5),
                       "rounds: expected a number from -1 to 2.5, got 3",
                       SettingError);
  CHECK_THROWS_WITH_AS(RequireRange("rounds", -2, 0, kInfinity),
                       "rounds: expected a number of at least 0, got -2",
                       SettingError);
  CHECK_THROWS_WITH_AS(RequireRange("rounds", kNaN, 0, kInfinity),
                       "rounds: expected a number of at least 0, got nan",
                       SettingError);
}

TEST_CASE("settings: a choice is one of those named") {
  CHECK_NOTHROW(RequireChoice("aggregation", "mean", {"mean", "sum"}));
  CHECK_NOTHROW(RequireChoice("aggregation", "sum", {"mean", "sum"}));
  for (const std::string value : {"Mean", "", "me"}) {
    CHECK_THROWS_WITH_AS(
        RequireChoice("network.aggregation", value, {"mean", "sum"}),
        ("network.aggregation: expected \"mean\", \"sum\", got \"" + value + '"').c_str(),
        SettingError);
  }
}

TEST_CASE("settings: choices in words") {
  CHECK(JoinChoices({}) == "");
  CHECK(JoinChoices({"a"}) == "\"a\"");
  CHECK(JoinChoices({"a", "b", "c"}) == "\"a\", \"b\", \"c\"");
}

}  // namespace
