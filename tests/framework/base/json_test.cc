#include "framework/base/json.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;

constexpr std::array<std::string_view, 1> kRecords = {"ops"};

// One line per visited part.
std::string Visited(const std::string& text) {
  std::string parts;
  VisitJson(text, "f.json", kRecords, [&](const JsonPart& part) {
    parts += fmt::format("{} {} {}\n", part.key, part.index, part.value.dump());
  });
  return parts;
}

std::string JsonErrorOf(const std::string& text) {
  return MessageOf<InputError>([&] { Visited(text); });
}

TEST_CASE("parts come in file order, records one by one, keys in theirs") {
  CHECK(Visited(R"({"z": [1, [2]], "ops": [{"b": 1, "a": {"y": [], "x": null}}, 7], "a": "t"})") ==
        "z -1 [1,[2]]\n"
        "ops 0 {\"b\":1,\"a\":{\"y\":[],\"x\":null}}\n"
        "ops 1 7\n"
        "ops -1 []\n"
        "a -1 \"t\"\n");
  CHECK(Visited("{}") == "");
  CHECK(Visited("\xef\xbb\xbf {\"ops\": 3}") == "ops -1 3\n");
  CHECK(Visited(R"({"ops": [], "x": {"ops": [1]}})") == "ops -1 []\nx -1 {\"ops\":[1]}\n");
}

TEST_CASE("values keep their exactness") {
  CHECK(Visited(R"({"a": [9223372036854775807, 18446744073709551615, -5, 0.1, 1e300, true]})") ==
        "a -1 [9223372036854775807,18446744073709551615,-5,0.1,1e+300,true]\n");
  CHECK(Visited("{\"a\": \"\\u00e9\\n\xf0\x9f\x99\x82\"}") ==
        "a -1 \"\xc3\xa9\\n\xf0\x9f\x99\x82\"\n");
}

TEST_CASE("duplicate keys are refused at every depth, with their place") {
  CHECK(JsonErrorOf(R"({"a": 1, "b": 2, "a": 3})") ==
        "f.json: duplicate key \"a\"; expected it once");
  CHECK(JsonErrorOf(R"({"a": {"x": 1, "x": 2}})") ==
        "f.json: a: duplicate key \"x\"; expected it once");
  CHECK(JsonErrorOf(R"({"ops": [{}, {"name": "conv", "id": 1, "id": 1}]})") ==
        "f.json: ops[1] \"conv\": duplicate key \"id\"; expected it once");
  CHECK(JsonErrorOf(R"({"ops": [{"name": "conv", "attributes": {"k": 1, "k": 1}}]})") ==
        "f.json: ops[0] \"conv\": attributes: duplicate key \"k\"; expected it once");
  // Many keys go another way.
  std::string many = "{\"a\": {\"k0\": 0";
  for (int i = 1; i < 100; ++i) many += fmt::format(", \"k{}\": 0", i);
  CHECK(Visited(many + "}}").starts_with("a -1 {\"k0\":0,"));
  CHECK(JsonErrorOf(many + ", \"k3\": 0}}") == "f.json: a: duplicate key \"k3\"; expected it once");
  CHECK(JsonErrorOf(many + ", \"k99\": 0}}") ==
        "f.json: a: duplicate key \"k99\"; expected it once");
}

TEST_CASE("what is no JSON is refused with line, column and record") {
  CHECK(JsonErrorOf("") == "f.json: is empty; expected a JSON object");
  CHECK(JsonErrorOf(" \n ") == "f.json: is empty; expected a JSON object");
  CHECK(JsonErrorOf("\n [1]") == "f.json:2:2: not a JSON object: begins with '['; expected '{'");
  CHECK(JsonErrorOf("\x8f") ==
        "f.json:1:1: not a JSON object: begins with byte 0x8f; expected '{'");
  CHECK(JsonErrorOf("{\"a\": 1,\n \"b\"") ==
        "f.json:2:5: b: not valid JSON: unexpected end of input; "
        "expected ':'");
  CHECK(JsonErrorOf("{\"a\": 1} x").starts_with("f.json:1:10: not valid JSON: invalid literal"));
  CHECK(JsonErrorOf("{\"ops\": [{\"name\": \"conv\", \"id\": }]}")
            .starts_with("f.json:1:33: ops[0] \"conv\": id: not valid JSON: unexpected '}'"));
  CHECK(JsonErrorOf("{\"a\": \"\xff\"}")
            .starts_with("f.json:1:8: a: not valid JSON: invalid string: ill-formed UTF-8 byte"));
  CHECK(JsonErrorOf("{\"a\": 1e999}") ==
        "f.json:1:11: a: number out of range; expected at most 1.8e308");
}

TEST_CASE("a text cut off anywhere is refused") {
  const std::string whole =
      R"({"a": {"x": [1, 2.5e3, null]}, "ops": [{"name": "c\u00e9", "b": true}]})";
  Visited(whole);
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string message = JsonErrorOf(whole.substr(0, length));
    CHECK_MESSAGE(message.starts_with("f.json:"), message);
  }
}

TEST_CASE("NaN and infinities are named as what they are") {
  CHECK(JsonErrorOf("{\"ops\": [\n{\"name\": \"conv\", \"flops\": NaN}]}") ==
        "f.json:2:27: ops[0] \"conv\": flops: NaN is not a JSON number; expected a finite number");
  for (const std::string token : {"Infinity", "-Infinity", "inf", "-inf", "nan"}) {
    CHECK(JsonErrorOf("{\"a\": [1, " + token + "]}")
              .find(token + " is not a JSON number; expected a finite "
                            "number") != std::string::npos);
  }
}

TEST_CASE("100 MB of garbage make one short message") {
  constexpr size_t kSize = 100'000'000;
  const auto repeat = [](std::string text, const std::string& part) {
    while (text.size() < kSize) text += part;
    return text;
  };
  const auto random = [] {
    Rng rng(1);
    std::string text = "{\"";
    while (text.size() < kSize) {
      const auto word = rng();
      text.append(reinterpret_cast<const char*>(&word), sizeof(word));
    }
    return text;
  };
  const std::vector<std::function<std::string()>> garbage = {
      [&] { return std::string(kSize, '\0'); },
      [&] { return "{\"" + std::string(kSize, 'a'); },
      [&] { return "{\"a\": " + std::string(kSize, '1'); },
      [&] { return repeat("{\"ops\": [1", ",1"); },
      [&] { return repeat("{", "\"a\":{"); },
      [&] { return repeat("{\"traceEvents\": [0", ",{\"ph\":\"X\",\"ts\":1234}"); },
      random,
  };
  for (const auto& make : garbage) {
    const std::string text = make();
    const std::string message = JsonErrorOf(text);
    CHECK(message.starts_with("f.json:"));
    CHECK(message.size() < 200);
  }
}

TEST_CASE("bounds: depth, values in one place, outermost keys") {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  CHECK(Visited(nested(100)).size() > 200);
  CHECK(JsonErrorOf(nested(101)) == "f.json: a: nested more than 100 levels deep");
  std::string list = "{\"a\":[";
  for (int i = 0; i < 1'000'000; ++i) list += "\"\",";
  CHECK(JsonErrorOf(list + "0]}") == "f.json: a: more than 1000000 values in one place");
  std::string keys = "{\"x\":0";
  for (int i = 0; i < 10'000; ++i) keys += fmt::format(",\"k{}\":0", i);
  CHECK(JsonErrorOf(keys + "}") == "f.json: more than 10000 keys");
  // Records are bounded one by one: there may be any number of them.
  std::string records = "{\"ops\":[";
  for (int i = 0; i < 600'000; ++i) records += "[\"\",0],";
  int count = 0;
  VisitJson(records + "[]]}", "f.json", kRecords, [&](const JsonPart& part) {
    count += part.index >= 0;
  });
  CHECK(count == 600'001);
}

TEST_CASE("format and version are checked in this order") {
  const Json none(Json::value_t::discarded);
  const auto message = [](const Json& format, const Json& version) {
    return MessageOf<InputError>(
        [&] { CheckJsonFormat(format, version, "emplace-x", 1, "f.json"); });
  };
  CHECK_NOTHROW(CheckJsonFormat("emplace-x", 1, "emplace-x", 1, "f.json"));
  CHECK_NOTHROW(CheckJsonFormat("emplace-x", 1.0, "emplace-x", 1, "f.json"));
  CHECK(message(none, none) ==
        "f.json: required key \"format\" is missing; expected \"emplace-x\"");
  CHECK(message("onnx", 2) == "f.json: format: got \"onnx\"; expected \"emplace-x\"");
  CHECK(message("emplace-x", none) == "f.json: required key \"version\" is missing; expected 1");
  CHECK(message("emplace-x", 2) ==
        "f.json: version: expected at most 1, got 2: made by a newer version of emplace");
  CHECK(message("emplace-x", "1") ==
        "f.json: version: got \"1\"; expected an integer from 0 to 2^63 - 1");
  CHECK(message("emplace-x", true) ==
        "f.json: version: got true; expected an integer from 0 to 2^63 - 1");
  const auto of_three = [](int version) {
    return MessageOf<InputError>(
        [&] { CheckJsonFormat("emplace-x", version, "emplace-x", 3, "f.json"); });
  };
  for (const int version : {1, 2, 3}) CHECK(of_three(version) == "(nothing was thrown)");
  CHECK(of_three(4) ==
        "f.json: version: expected at most 3, got 4: made by a newer version of emplace");
  CHECK(of_three(0) == "f.json: version: expected 1 to 3, got 0");
}

TEST_CASE("counts are integers from 0 to 2^63 - 1") {
  CHECK(JsonCount(0) == 0);
  CHECK(JsonCount(3.0) == 3);
  CHECK(JsonCount(9223372036854775807) == INT64_MAX);
  CHECK(JsonCount(Json::parse("-0")) == 0);
  const auto message = [](const std::string& text) {
    return MessageOf<InputError>([&] { JsonCount(Json::parse(text)); });
  };
  for (const std::string text :
       {"3.5", "-1", "-2.0", "9223372036854775808", "1e+30", "true", "null", "\"3\""}) {
    CHECK(message(text) == "got " + text + "; expected an integer from 0 to 2^63 - 1");
  }
  CHECK(message("[1,2]") == "got a list of 2; expected an integer from 0 to 2^63 - 1");
}

TEST_CASE("amounts are finite numbers >= 0") {
  CHECK(JsonAmount(1.5) == 1.5);
  CHECK(JsonAmount(7) == 7);
  CHECK_FALSE(std::signbit(JsonAmount(-0.0)));  // written as -0 it would be an integer to readers
  CHECK(MessageOf<InputError>([] { JsonAmount(-1); }) == "got -1; expected a finite number >= 0");
  CHECK(MessageOf<InputError>([] { JsonAmount("1"); }) ==
        "got \"1\"; expected a finite number >= 0");
  CHECK_THROWS_AS(JsonAmount(std::numeric_limits<double>::infinity()), InputError);
}

TEST_CASE("quoting survives any text") {
  const std::string all = "q\" b\\ nl\n tab\t nul" + std::string(1, '\0') + " \xc3\xa9";
  CHECK(Json::parse(QuoteJson(all)).get<std::string>() == all);
  CHECK(QuoteJson("a\"\n") == "\"a\\\"\\u000a\"");
  CHECK(ClippedJson(std::string(1000, 'x')) == "\"" + std::string(60, 'x') + "...\"");
  CHECK(ClippedJson(Json::object()) == "an object of 0 keys");
}

}  // namespace
}  // namespace emplace
