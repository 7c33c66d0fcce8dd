// framework/cost/FORMAT.md against reader and writer.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/cost/cost_table.h"
#include "tests/framework/format_pages.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;

TEST_CASE("costs: the example has every key, is read and written the same") {
  const std::string example = Example(kCostPage, "json");
  CHECK(json::parse(FormatCostTable(ParseCostTable(example, "page"))) == json::parse(example));
}

TEST_CASE("costs: the tables name the keys that reader and writer know") {
  const json example = json::parse(Example(kCostPage, "json"));
  const auto parse = [](const std::string& text) { ParseCostTable(text, "page"); };
  const KeyTable timing = KeysOf(kCostPage, "Keys of a timing");
  const std::vector<Records> tables = {
      {"Keys of the file", {""}},
      {"Keys of a device kind", {"/device_kinds/0"}},
      {"Keys of an op", {"/ops/0", "/ops/1"}},
      {"Keys of a timing", {"/ops/0/isolated", "/ops/0/in_situ", "/ops/1/cold"}},
      {"Keys of a fit", {"/fits/0", "/fits/1"}},
      {"Keys of a link", {"/links/0"}},
      {"Keys of a point", {"/links/0/points/1", "/links/0/points/0"}},
      {"Keys of a range", {"/links/0/ranges/0", "/links/0/ranges/1"}},
      {"Keys of a dispatch record", {"/dispatch/0"}},
      {"Keys of a slowdown", {"/link_contention/0", "/interference/0"}},
      {"Keys of a held-out step", {"/held_out/0"}}};
  for (const Records& records : tables) {
    CAPTURE(records.heading);
    KeyTable keys = KeysOf(kCostPage, records.heading);
    if (records.heading == "Keys of a point") keys.insert(timing.begin(), timing.end());
    CHECK(Text(NamesOf(keys)) == Text(KeysAt(example, records.places)));
    for (const std::string& place : records.places) CheckKnown(example, place, keys, parse);
  }
}

TEST_CASE("costs: a key left out is its default on the page") {
  const json example = json::parse(Example(kCostPage, "json"));
  const auto read = [](const std::string& text) {
    return FormatCostTable(ParseCostTable(text, "page"));
  };
  const Defaults timing = DefaultsOf(kCostPage, "Keys of a timing");
  const auto check = [&](const Records& records, const DefaultsHelp& help = {}) {
    CheckDefaults(example, records.places, DefaultsOf(kCostPage, records.heading), help, read);
  };
  check({"Keys of the file", {""}});
  check({"Keys of a device kind", {"/device_kinds/0"}},
        {.words = {{"cold_read", {}}}, .other = {}});
  check({"Keys of an op", {"/ops/0", "/ops/1"}},
        {.words = {{"isolated", {}},
                   {"cold", {}},
                   {"in_situ", {}},
                   {"apart_ns", {}},
                   {"interference", {}}},
         .other = {}});
  check({"Keys of a timing", {"/ops/0/in_situ"}});
  check({"Keys of a fit", {"/fits/0"}});
  check({"Keys of a link", {"/links/0"}});
  check({"Keys of a slowdown", {"/interference/0"}});
  check({"Keys of a held-out step", {"/held_out/0"}},
        {.words = {{"stream_ns", {}}, {"queue_ns", {}}}, .other = {}});
  CheckDefaults(example, {"/links/0/points/1"}, timing, {}, read);
  // As the tables say beside the key `interference`.
  const Defaults figures = {{"sensitivity", "0"}, {"pressure", "0"}};
  CheckDefaults(example, {"/ops/1/interference"}, figures, {}, read);
  CheckDefaults(example, {"/device_kinds/0/interference/transfer"}, figures, {}, read);
  for (const char* heading : {"Keys of a point", "Keys of a range", "Keys of a dispatch record"}) {
    CHECK_MESSAGE(DefaultsOf(kCostPage, heading).empty(), heading);
  }
}

}  // namespace
