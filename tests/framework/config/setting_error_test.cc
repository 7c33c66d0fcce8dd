#include "framework/config/setting_error.h"

#include <doctest/doctest.h>

namespace {

using namespace emplace;

TEST_CASE("setting error: key and message, together and apart") {
  const SettingError error("optimizer.method", "expected \"adam\", got \"adan\"");
  CHECK(error.key() == "optimizer.method");
  CHECK(error.message() == "expected \"adam\", got \"adan\"");
  CHECK(std::string(error.what()) == "optimizer.method: expected \"adam\", got \"adan\"");
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
