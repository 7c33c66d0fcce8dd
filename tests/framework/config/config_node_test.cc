#include "framework/config/config_node.h"

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

ConfigNode ParseNode(const std::string& text) {
  return ConfigNode::FromString(text, "a.yaml");
}

template <class F>
void CheckReadRefused(F&& f, const std::string& expected) {
  const std::string message = testing::MessageOf<InputError>(f);
  INFO("message:  ", message);
  INFO("expected: ", expected);
  CHECK(message.find(expected) != std::string::npos);
}

const char* const kText =
    "graph: resnet50\n"                      // 1
    "budget:\n"                              // 2
    "  evaluations: 1000\n"                  // 3
    "  seconds: 2.5\n"                       // 4
    "agents:\n"                              // 5
    "  - {name: random}\n"                   // 6
    "  - {name: annealing, cooling: 0.9}\n"  // 7
    "seeds: [0, 1, 2]\n"                     // 8
    "quiet: yes\n"                           // 9
    "nothing:\n"                             // 10
    "latency: 25us\n";                       // 11

TEST_CASE("values of every form") {
  const ConfigNode node = ParseNode(kText);
  CHECK(node.IsMap());
  CHECK(node.Keys() == std::vector<std::string>{
                           "graph", "budget", "agents", "seeds", "quiet", "nothing", "latency"});
  CHECK(node.At("graph").AsString() == "resnet50");
  CHECK(node.At("budget").At("evaluations").AsInt() == 1000);
  CHECK(node.At("budget").At("evaluations").AsDouble() == 1000.0);
  CHECK(node.At("budget").At("seconds").AsDouble() == 2.5);
  CHECK(node.At("agents").Elements().size() == 2);
  CHECK(node.At("agents").Elements()[1].At("cooling").AsDouble() == 0.9);
  CHECK(node.At("seeds").IsSequence());
  CHECK(node.At("quiet").AsBool());
  CHECK(node.At("nothing").IsNull());
  CHECK(node.At("latency").AsTime() == 25'000);
  CHECK(node.Has("graph"));
  CHECK_FALSE(node.Has("grape"));
  CHECK(ParseNode("7600B/us").AsBandwidth() == Bandwidth{7'600'000'000, 1});
  CHECK(ParseNode("11GiB").AsBytes() == 11LL << 30);
  CHECK(ParseNode("2TFLOP/s").AsFlopRate() == 2e12);
}

TEST_CASE("places: file, line, column from 1, and the path of keys") {
  const ConfigNode node = ParseNode(kText);
  CHECK(node.Where() == "a.yaml:1:1");
  CHECK(node.At("budget").At("seconds").Where() == "a.yaml:4:12: budget.seconds");
  CHECK(node.At("agents").Elements()[1].At("cooling").Where() == "a.yaml:7:32: agents.1.cooling");
  CHECK(ConfigNode().Where() == "config");
  CheckReadRefused([&] { node.At("budget").At("second"); },
                   "a.yaml:3:3: budget: the required key \"second\" is missing");
  CheckReadRefused([&] { node.At("graph").AsInt(); },
                   "a.yaml:1:8: graph: expected a whole number (64 bits), got \"resnet50\"");
  CheckReadRefused([&] { node.At("graph").Fail("no such graph"); },
                   "a.yaml:1:8: graph: no such graph");
}

TEST_CASE("an empty file is an empty map") {
  CHECK(ParseNode("").IsMap());
  CHECK(ParseNode("# only a comment\n").Keys().empty());
}

TEST_CASE("numbers are strict") {
  CHECK(ParseNode("-7").AsInt() == -7);
  CHECK(ParseNode("+7").AsInt() == 7);
  CHECK(ParseNode("9223372036854775807").AsInt() == 9223372036854775807LL);
  CHECK(ParseNode("1e-3").AsDouble() == 1e-3);
  for (const std::string text : {"1.0",
                                 "1e3",
                                 "0x10",
                                 "010",
                                 "1_000",
                                 "\"5\"",
                                 "9223372036854775808",
                                 "five",
                                 "[1]",
                                 "{a: 1}",
                                 "~",
                                 "+-3"}) {
    INFO(text);
    CheckReadRefused([&] { ParseNode(text).AsInt(); }, "expected a whole number");
  }
  for (const std::string text :
       {".nan", "nan", ".inf", "-inf", "1e999", "010.5", "\"2.5\"", "[2.5]"}) {
    INFO(text);
    CheckReadRefused([&] { ParseNode(text).AsDouble(); }, "expected a finite number");
  }
}

TEST_CASE("truth is true, false, yes or no") {
  CHECK(ParseNode("true").AsBool());
  CHECK_FALSE(ParseNode("false").AsBool());
  CHECK_FALSE(ParseNode("no").AsBool());
  for (const std::string text : {"on", "1", "True", "\"true\"", "~", "[]"}) {
    INFO(text);
    CheckReadRefused([&] { ParseNode(text).AsBool(); }, "expected true or false, got ");
  }
}

TEST_CASE("a value of another form is described") {
  CheckReadRefused([] { ParseNode("[1]").AsString(); }, "a.yaml:1:1: expected a text, got a list");
  CheckReadRefused([] { ParseNode("a: ").At("a").AsString(); }, "a: expected a text, got nothing");
  CheckReadRefused([] { ParseNode("[1]").Keys(); }, "expected a map (key: value), got a list");
  CheckReadRefused([] { ParseNode("a: 1").Elements(); }, "expected a list, got a map");
  CheckReadRefused([] { ParseNode("text").At("a"); }, "expected a map (key: value), got \"text\"");
  CheckReadRefused([] { ParseNode("a: 25").At("a").AsTime(); },
                   "a.yaml:1:4: a: expected a time with a unit such as 25us, got \"25\"");
  CheckReadRefused([] { ParseNode("a: [25us]").At("a").AsTime(); },
                   "a.yaml:1:4: a: expected a time with a unit, got a list");
  CheckReadRefused([] { ParseNode("a: 12").At("a").AsBytes(); }, "such as 11GiB");
  CheckReadRefused([] { ParseNode("a: 12").At("a").AsBandwidth(); }, "such as 7.6GB/s");
  CheckReadRefused([] { ParseNode("a: 12").At("a").AsFlopRate(); }, "such as 2.8TFLOP/s");
}

TEST_CASE("duplicate keys are refused where the second stands") {
  CheckReadRefused([] { ParseNode("a: 1\nb: {c: 1,\n    d: 2, c: 3}\n"); },
                   "a.yaml:3:11: duplicate key \"c\", first in line 2");
}

TEST_CASE("malformed YAML names line and column") {
  CheckReadRefused([] { ParseNode("a: [1, 2\nb: 3\n"); }, "a.yaml:");
  CheckReadRefused([] { ParseNode("a: [1, 2\nb: 3\n"); }, "malformed YAML");
  CheckReadRefused([] { ParseNode("a: \"open\nb: 2\n"); },
                   "a.yaml:1:4: malformed YAML: the quote is never closed");
  CheckReadRefused([] { ParseNode("a: 'it''s\n"); }, "the quote is never closed");
  CheckReadRefused([] { ParseNode("b: \u00e9\na: \"x\\\"\n"); }, "a.yaml:2:4: malformed YAML");
  CHECK(ParseNode("a: 'it''s'\nb: \"x\\\"\"\nc: \u00e9\nd: \"\"\n").At("a").AsString() == "it's");
  CheckReadRefused([] { ParseNode("? [a, b]\n: 1\n"); }, "expected a text as key, got a list");
  CheckReadRefused([] { ParseNode("a: !secret 1\n"); },
                   "a.yaml:1:4: the tag \"!secret\" is not supported");
  CheckReadRefused([] { ParseNode("a: 1\n---\nb: 2\n"); }, "expected one YAML document");
  CheckReadRefused([] { ParseNode("a: *b\n"); }, "malformed YAML");
  CheckReadRefused([] { ParseNode(std::string(100'000, '[')); }, "malformed YAML");
}

TEST_CASE("anchors and aliases stand for the same value") {
  const ConfigNode node = ParseNode("a: &x {b: 1}\nc: *x\n");
  CHECK(node.At("c").At("b").AsInt() == 1);
  CHECK(node.At("c").At("b").Where() == "a.yaml:1:11: c.b");
}

TEST_CASE("files: a missing one is the user's mistake") {
  const testing::TempDir folder;
  CheckReadRefused([&] { ConfigNode::FromFile(folder / "none.yaml"); }, "none.yaml");
  std::ofstream(folder / "some.yaml") << "a: {b: x}\n";
  const ConfigNode node = ConfigNode::FromFile(folder / "some.yaml");
  CHECK(node.At("a").At("b").Where() == (folder / "some.yaml").string() + ":1:8: a.b");
}

TEST_CASE("unknown keys come with the nearest known one") {
  const ConfigNode node = ParseNode("budget:\n  evaluatons: 3\n");
  const std::vector<std::string> known{"evaluations", "seconds"};
  CheckReadRefused([&] { node.At("budget").RequireKnownKeys(known); },
                   "a.yaml:2:3: budget: unknown key \"evaluatons\"; did you mean \"evaluations\"?");
  node.At("budget").RequireKnownKeys(std::vector<std::string>{"evaluatons"});
}

TEST_CASE("aliases count as often as they stand") {
  // Eight levels of ten: 10^8 values in 600 bytes.
  std::string text = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]\n";
  for (char level = '1'; level < '8'; ++level) {
    const std::string alias = std::string("*a") + static_cast<char>(level - 1);
    text += std::string("a") + level + ": &a" + level + " [" + alias;
    for (int i = 0; i < 9; ++i) text += ", " + alias;
    text += "]\n";
  }
  CheckReadRefused([&] { ParseNode(text); },
                   "more than 4194304 values, where the values of an alias count at each use");
  const ConfigNode few = ParseNode("a: &a [1, 2]\nb: [*a, *a]\n");
  CHECK(few.At("b").Elements()[1].Elements()[1].AsInt() == 2);
}

TEST_CASE("Set replaces and adds") {
  ConfigNode node = ParseNode(kText);
  const ConfigNode before = node;
  node.Set("budget.seconds", "7");
  node.Set("agents.0.name", "hill_climb");
  node.Set("agents.1", "{name: heft}");
  node.Set("new.deep.key", "[1, 2]");
  node.Set("nothing.inside", "true");
  CHECK(node.At("budget").At("seconds").AsInt() == 7);
  CHECK(node.At("budget").At("evaluations").AsInt() == 1000);
  CHECK(node.At("agents").Elements()[0].At("name").AsString() == "hill_climb");
  CHECK(node.At("agents").Elements()[1].Keys() == std::vector<std::string>{"name"});
  CHECK(node.At("new").At("deep").At("key").Elements().size() == 2);
  CHECK(node.At("nothing").At("inside").AsBool());
  // Copies do not change with it.
  CHECK(before.At("budget").At("seconds").AsDouble() == 2.5);
  CHECK_FALSE(before.Has("new"));
  // The new value's place is where it came from.
  CHECK(node.At("budget").At("seconds").Where() == "--set: budget.seconds");
  CheckReadRefused([&] { node.At("new").At("deep").At("key").AsInt(); },
                   "--set: new.deep.key: expected a whole number");
  CheckReadRefused([&] { node.At("new").RequireKnownKeys(std::vector<std::string>{"deed"}); },
                   "--set: new: unknown key \"deep\"; did you mean \"deed\"?");
}

TEST_CASE("Put takes a value with its place") {
  const ConfigNode from = ConfigNode::FromString("a: {b: [x, \"7\"], c: }\n", "from.yaml");
  ConfigNode node = ConfigNode::FromString("graph: nmt\nbudget: {seconds: 3}\n", "to.yaml");
  node.Put("budget", from.At("a"));
  node.Put("new.deep", from.At("a").At("b"));
  node.Put("graph", from.At("a").At("c"));
  CHECK(node.Dump() ==
        "graph: ~\nbudget:\n  b:\n    - x\n    - \"7\"\n  c: ~\nnew:\n  deep:\n"
        "    - x\n    - \"7\"\n");
  CHECK(node.At("budget").At("b").Elements()[1].Where() == "from.yaml:1:12: budget.b.1");
  CheckReadRefused([&] { node.At("budget").RequireKnownKeys(std::vector<std::string>{"b"}); },
                   "from.yaml:1:18: budget: unknown key \"c\"");
  CheckReadRefused([&] { node.Put("new.deep.2", from); },
                   "from.yaml:1:1: new.deep.2: expected an index from 0 to 1");
  CHECK(from.At("a").Has("b"));
}

TEST_CASE("Set refuses what has no place") {
  ConfigNode node = ParseNode(kText);
  CheckReadRefused([&] { node.Set("agents.2.name", "x"); },
                   "--set: agents.2.name: expected an index from 0 to 1 into the list, got \"2\"");
  CheckReadRefused([&] { node.Set("agents.first", "x"); }, "expected an index from 0 to 1");
  CheckReadRefused(
      [&] { node.Set("graph.name", "x"); },
      "--set: graph.name: found \"resnet50\" instead of a map or a list above \"name\"");
  CheckReadRefused([&] { node.Set("", "x"); }, "the path has an empty key");
  CheckReadRefused([&] { node.Set("budget..seconds", "x"); }, "the path has an empty key");
  CheckReadRefused([&] { node.Set("graph", "[1, 2"); }, "--set: graph: malformed YAML");
  CheckReadRefused([&] { node.Set("graph", "{a: 1, a: 2}", "sweep"); },
                   "sweep: graph: duplicate key \"a\"");
  CHECK(node.At("graph").AsString() == "resnet50");
}

TEST_CASE("Dump reads back equal") {
  const std::string text =
      "a: \"5\"\nb: 5\nc: ~\nd: []\ne: {}\nf: [x, [1, 2], {g: \"yes\"}]\nh: \"two\\nlines\"\n"
      "\"gpu:0\": \"- : #\"\ni: \"\\u00e9\"\n";
  const ConfigNode node = ParseNode(text);
  const std::string dumped = node.Dump();
  INFO(dumped);
  const ConfigNode again = ParseNode(dumped);
  CHECK(again.Dump() == dumped);
  CHECK(again.Keys() == node.Keys());
  CHECK_THROWS_AS(again.At("a").AsInt(), InputError);
  CHECK(again.At("b").AsInt() == 5);
  CHECK(again.At("c").IsNull());
  CHECK(again.At("d").Elements().empty());
  CHECK(again.At("e").Keys().empty());
  CHECK(again.At("h").AsString() == "two\nlines");
  CHECK(again.At("gpu:0").AsString() == "- : #");
  CHECK(again.At("i").AsString() == "\u00e9");
  CHECK(ConfigNode().Dump() == "{}\n");
}

TEST_CASE("QuoteYaml reads back") {
  for (const std::string text :
       {"", "plain", "a\"b\\c", "two\nlines\ttab", "\x01", "5", "#", "\u00e9"}) {
    CHECK(ParseNode("k: " + QuoteYaml(text)).At("k").AsString() == text);
  }
}

}  // namespace
