// Places in messages of records, and typed values.

#include "framework/base/json_record.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;
using emplace::testing::MessageOf;

namespace {

TEST_CASE("a message says in which record, list and key") {
  const Json json = Json::parse(
      R"({"name": "k", "count": 3, "part": {"rate": -1}, "list": [{"x": 1}, {"signature": "s"}],
          "wrong": [1], "text": ""})");
  const JsonRecord record(json, "kinds", 2);
  CHECK(record.Count("count") == 3);
  CHECK(record.Name("name") == "k");
  CHECK(record.Get("none", 7.0, JsonAmount) == 7);
  const auto message = [&](const auto& read) { return MessageOf<InputError>(read); };
  CHECK(message([&] { record.Amount("none"); }) ==
        "kinds[2] \"k\": required key \"none\" is missing");
  CHECK(message([&] { record.Name("text"); }) == "kinds[2] \"k\": text: got \"\"; expected a name");
  CHECK(message([&] {
          record.Inner("part", [](const JsonRecord& part) { part.At("rate", JsonPositive); });
        }) == "kinds[2] \"k\": part: rate: got -1; expected a finite number >= 0");
  std::vector<std::string> keys;
  CHECK(message([&] {
          record.Each("list", [&](const JsonRecord& one) {
            one.EachKey([&](const std::string& key) { keys.push_back(key); });
            one.Count("x");
          });
        }) == "kinds[2] \"k\": list[1] \"s\": required key \"x\" is missing");
  CHECK(keys == std::vector<std::string>{"x", "signature"});
  CHECK(message([&] { record.Each("wrong", [](const JsonRecord&) {}); }) ==
        "kinds[2] \"k\": wrong[0]: got 1; expected an object");
  CHECK(message([&] { record.Each("part", [](const JsonRecord&) {}); }) ==
        "kinds[2] \"k\": part: got an object of 1 keys; expected a list");
  record.Inner("none", [](const JsonRecord&) { FAIL("there is none"); });
}

TEST_CASE("typed values: what they take, and what they say of others") {
  CHECK(JsonPositive(Json(0.5)) == 0.5);
  CHECK(MessageOf<InputError>([] { JsonPositive(Json(0)); }) == "got 0; expected a number > 0");
  CHECK(JsonBool(Json(true)));
  CHECK(MessageOf<InputError>([] { JsonBool(Json(1)); }) == "got 1; expected true or false");
  const std::vector<std::string> choices{"cpu", "gpu"};
  CHECK(JsonChoice(Json("gpu"), "device class", choices) == "gpu");
  CHECK(MessageOf<InputError>([&] {
          JsonChoice(Json("gpux"), "device class", choices);
        }).find("unknown device class \"gpux\"") == 0);
}

}  // namespace
