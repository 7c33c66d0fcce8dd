// framework/graph/FORMAT.md against reader and writer.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/graph/graph_io.h"
#include "tests/framework/format_pages.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;

TEST_CASE("graph: the example has every key, is read without warnings and written the same") {
  const std::string example = Example(kGraphPage, "json");
  std::vector<std::string> warnings;
  const Graph graph =
      ParseGraph(example, "page", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings.empty());
  CHECK(json::parse(FormatGraph(graph)) == json::parse(example));
  CHECK(graph.num_ops() > 0);
}

TEST_CASE("graph: the tables name the keys that the reader knows") {
  const json example = json::parse(Example(kGraphPage, "json"));
  const auto parse = [](const std::string& text) { ParseGraph(text, "page"); };
  const std::string reader = "framework/graph/graph_io.cc";
  const auto check = [&](const Records& records, const std::string& list) {
    CAPTURE(records.heading);
    const KeyTable keys = KeysOf(kGraphPage, records.heading);
    CHECK(Text(NamesOf(keys)) == Text(KeysAt(example, records.places)));
    Names known = ListInSource(reader, list);
    if (list != "kFileKeys") known.insert("id");  // which the reader checks apart
    CHECK(Text(NamesOf(keys)) == Text(known));
    CheckKnown(example, records.places[0], keys, parse);
  };
  check({"Keys of the file", {""}}, "kFileKeys");
  check({"Keys of a tensor", {"/tensors/0", "/tensors/4"}}, "kTensorReaders");
  check({"Keys of an op", {"/ops/3", "/ops/1", "/ops/2"}}, "kOpReaders");
}

TEST_CASE("graph: a key left out is its default on the page") {
  const json example = json::parse(Example(kGraphPage, "json"));
  const auto read = [](const std::string& text) { return FormatGraph(ParseGraph(text, "page")); };
  const auto check = [&](const Records& records, const DefaultsHelp& help) {
    CheckDefaults(example, records.places, DefaultsOf(kGraphPage, records.heading), help, read);
  };
  check({"Keys of the file", {""}}, {});
  check({"Keys of a tensor", {"/tensors/0"}}, {.words = {}, .other = {{"alias_of", 1}}});
  check({"Keys of an op", {"/ops/3", "/ops/1", "/ops/2"}},
        {.words = {{"bytes_accessed", 3 * 2560}}, .other = {}});  // w, dw and new_w
}

TEST_CASE("graph: an unknown key is kept under a warning, as the page says") {
  json example = json::parse(Example(kGraphPage, "json"));
  example["ops"][1]["colour"] = "red";
  std::vector<std::string> warnings;
  const Graph graph = ParseGraph(
      example.dump(), "page", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings.size() == 1);
  CHECK(json::parse(FormatGraph(graph))["ops"][1]["colour"] == "red");
}

}  // namespace
