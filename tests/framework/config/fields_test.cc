#include "framework/config/fields.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

struct BudgetConfig {
  std::int64_t evaluations = 10'000'000'000;
  double seconds = 60;
  void Visit(FieldVisitor& v) {
    v.Field("evaluations", evaluations, "placements to try");
    v.Field("seconds", seconds, AtLeast(0.5), "wall time [s]");
  }
};

struct RunConfig {
  bool quiet = false;
  int threads = 2;
  double cooling = 0.95;
  std::string graph = "resnet50";
  std::vector<std::string> names = {"a", "yes", "gpu:0"};
  std::vector<double> weights = {0.5, 1};
  ConfigNode rules;
  BudgetConfig budget;
  void Visit(FieldVisitor& v) {
    v.Field("quiet", quiet, "no progress bar");
    v.Field("threads", threads, AtLeast(-3), "threads of a batch");
    v.Field("cooling", cooling, Between(0, 1), "temperature factor per sweep");
    v.Field("graph", graph, "name or file");
    v.Field("names", names, "labels");
    v.Field("weights", weights, "of the objectives");
    v.Field("rules", rules, "pattern -> device");
    v.Group("budget", "when to stop", [this](FieldVisitor& inner) { budget.Visit(inner); });
  }
};

struct LimitsConfig {
  std::optional<int> batches;
  std::optional<std::int64_t> evaluations = 10;
  std::optional<double> seconds = 1.5;
  void Visit(FieldVisitor& v) {
    v.Field("batches", batches, AtLeast(1), "batches of a search");
    v.Field("evaluations", evaluations, AtLeast(1), "placements to try");
    v.Field("seconds", seconds, Between(0.5, 9), "wall time [s]");
  }
};

struct EmptyConfig {
  void Visit(FieldVisitor&) {}
};

ConfigNode ParseYaml(const std::string& text) {
  return ConfigNode::FromString(text, "a.yaml");
}

void CheckFieldRefused(const std::string& text, const std::string& expected) {
  const std::string message =
      testing::MessageOf<InputError>([&] { ReadFields<RunConfig>(ParseYaml(text)); });
  INFO("message: ", message);
  CHECK(message.find(expected) != std::string::npos);
}

TEST_CASE("defaults stand where the file is silent") {
  const auto config = ReadFields<RunConfig>(ParseYaml(""));
  CHECK(config.threads == 2);
  CHECK(config.names.size() == 3);
  CHECK(config.budget.seconds == 60);
}

TEST_CASE("every form is read") {
  const auto config = ReadFields<RunConfig>(ParseYaml(
      "quiet: true\nthreads: -3\ncooling: 1e-3\ngraph: nmt\nnames: []\nweights: [2, 0.25]\n"
      "rules: [{x: 1}]\nbudget: {evaluations: 7}\n"));
  CHECK(config.quiet);
  CHECK(config.threads == -3);
  CHECK(config.cooling == 1e-3);
  CHECK(config.graph == "nmt");
  CHECK(config.names.empty());
  CHECK(config.weights == std::vector<double>{2, 0.25});
  CHECK(config.rules.Elements()[0].At("x").AsInt() == 1);
  CHECK(config.budget.evaluations == 7);
  CHECK(config.budget.seconds == 60);
}

TEST_CASE("a wrong key or value names its place and what was expected") {
  CheckFieldRefused("thread: 3\n", "a.yaml:1:1: unknown key \"thread\"; did you mean \"threads\"?");
  CheckFieldRefused("budget: {second: 3}\n",
                    "a.yaml:1:10: budget: unknown key \"second\"; did you mean \"seconds\"?");
  CheckFieldRefused("threads: 1.5\n", "a.yaml:1:10: threads: expected a whole number");
  CheckFieldRefused(
      "threads: 3000000000\n",
      "threads: expected a whole number from -2147483648 to 2147483647, got 3000000000");
  CheckFieldRefused("cooling: fast\n", "cooling: expected a finite number, got \"fast\"");
  CheckFieldRefused("quiet: 1\n", "quiet: expected true or false, got \"1\"");
  CheckFieldRefused("graph: [a]\n", "graph: expected a text, got a list");
  CheckFieldRefused("names: a\n", "names: expected a list, got \"a\"");
  CheckFieldRefused("names: [a, [b]]\n", "names.1: expected a text, got a list");
  CheckFieldRefused("weights: [x]\n", "weights.0: expected a finite number");
  CheckFieldRefused("budget: 3\n", "budget: expected a map (key: value), got \"3\"");
  CheckFieldRefused("[1]\n", "a.yaml:1:1: expected a map");
}

TEST_CASE("a number outside of its range is refused, one at its ends is not") {
  CheckFieldRefused("threads: -4\n",
                    "a.yaml:1:10: threads: expected a number of at least -3, got -4");
  CheckFieldRefused("cooling: 1.5\n",
                    "a.yaml:1:10: cooling: expected a number from 0 to 1, got 1.5");
  CheckFieldRefused("budget:\n  seconds: 0.25\n",
                    "a.yaml:2:12: budget.seconds: expected a number of at least 0.5, got 0.25");
  CHECK(ReadFields<RunConfig>(ParseYaml("{threads: -3, cooling: 1}")).threads == -3);
  CHECK(ReadFields<RunConfig>(ParseYaml("{cooling: 0}")).cooling == 0);
}

TEST_CASE("a number of the struct itself is checked without a key in the file, too") {
  RunConfig config;
  const auto refusal = [&] {
    return testing::MessageOf<InputError>([&] { ReadFields(ParseYaml("{quiet: true}"), config); });
  };
  CHECK(refusal() == "(nothing was thrown)");
  config.budget.seconds = 0;
  CHECK(refusal() == "budget.seconds: expected a number of at least 0.5, got 0");
  config.cooling = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal() == "cooling: expected a number from 0 to 1, got nan");
}

TEST_CASE("an optional number is a number within its range or none") {
  const auto config = ReadFields<LimitsConfig>(ParseYaml("{batches: 3, evaluations: none}"));
  CHECK(config.batches == 3);
  CHECK_FALSE(config.evaluations.has_value());
  CHECK(config.seconds == 1.5);
  CHECK(WriteFields(config) == "batches: 3\nevaluations: none\nseconds: 1.5\n");
  CHECK(ReadFields<LimitsConfig>(ParseYaml(WriteFields(LimitsConfig{}))).batches == std::nullopt);

  const auto refusal = [](const std::string& text) {
    return testing::MessageOf<InputError>([&] { ReadFields<LimitsConfig>(ParseYaml(text)); });
  };
  CHECK(refusal("evaluations: 0\n") ==
        "a.yaml:1:14: evaluations: expected a number of at least 1 or none, got 0");
  CHECK(refusal("batches: -1\n") ==
        "a.yaml:1:10: batches: expected a number of at least 1 or none, got -1");
  CHECK(refusal("seconds: 9.5\n") ==
        "a.yaml:1:10: seconds: expected a number from 0.5 to 9 or none, got 9.5");
  CHECK(refusal("batches: many\n").find("batches: expected a whole number") != std::string::npos);

  const std::vector<FieldHelp> help = DescribeFields(LimitsConfig{});
  REQUIRE(help.size() == 3);
  CHECK(help[0].default_value == "none");
  CHECK(help[0].help == "batches of a search; a number of at least 1 or none");
  CHECK(help[1].default_value == "10");
  REQUIRE(help[2].range.has_value());
  CHECK(help[2].range->low == 0.5);
  CHECK(help[2].range->high == 9);
}

TEST_CASE("what is written reads back") {
  RunConfig config;
  config.graph = "a \"quoted\"\nname: #";
  config.names = {"true", "5", "", "plain_name", "-"};
  config.cooling = 0.1;
  config.rules =
      ParseYaml("- pattern: \"conv*\"\n  device: gpu:0\n- {pattern: \"*\", device: cpu}\n");
  config.budget.evaluations = 5;
  const std::string text = WriteFields(config);
  INFO(text);
  const auto again = ReadFields<RunConfig>(ParseYaml(text));
  CHECK(again.graph == config.graph);
  CHECK(again.names == config.names);
  CHECK(again.cooling == config.cooling);
  CHECK(again.weights == config.weights);
  CHECK(again.rules.Elements()[0].At("device").AsString() == "gpu:0");
  CHECK(again.rules.Elements()[1].At("pattern").AsString() == "*");
  CHECK(again.budget.evaluations == 5);
  CHECK(WriteFields(again) == text);
  CHECK(WriteFields(EmptyConfig{}) == "{}\n");
}

TEST_CASE("written text is readable by people") {
  const std::string text = WriteFields(RunConfig{});
  CHECK(text ==
        "quiet: false\n"
        "threads: 2\n"
        "cooling: 0.95\n"
        "graph: resnet50\n"
        "names: [a, \"yes\", \"gpu:0\"]\n"
        "weights: [0.5, 1]\n"
        "rules: {}\n"
        "budget:\n"
        "  evaluations: 10000000000\n"
        "  seconds: 60\n");
}

TEST_CASE("help lists every key with its default and sentence") {
  const std::vector<FieldHelp> fields = DescribeFields<RunConfig>();
  REQUIRE(fields.size() == 10);
  CHECK(fields[1].key == "threads");
  CHECK(fields[1].default_value == "2");
  CHECK(fields[1].help == "threads of a batch; a number of at least -3");
  CHECK(fields[1].range->low == -3);
  CHECK(fields[2].help == "temperature factor per sweep; a number from 0 to 1");
  CHECK_FALSE(fields[3].range);
  CHECK(fields[7].key == "budget");
  CHECK(fields[7].default_value.empty());
  CHECK(fields[9].key == "budget.seconds");
  CHECK(fields[9].default_value == "60");
}

struct GrownConfig {
  std::string graph = "g";
  std::string order = "id";
  int islands = 1;
  void Visit(FieldVisitor& v) {
    v.Field("graph", graph, "name or file");
    v.AddedField("order", order, "id", "of the ops");
    v.AddedField("islands", islands, 1, Between(1, 8), "side by side");
  }
};

TEST_CASE("an added key is read and explained like others, and written unless it has its default") {
  CHECK(ReadFields<GrownConfig>(ParseYaml("{order: rank}")).order == "rank");
  CHECK(ReadFields<GrownConfig>(ParseYaml("{}")).order == "id");
  CHECK(WriteFields(GrownConfig{}) == "graph: g\n");
  CHECK(WriteFields(GrownConfig{.order = "rank"}) == "graph: g\norder: rank\n");
  CHECK(ReadFields<GrownConfig>(ParseYaml("{islands: 4}")).islands == 4);
  CHECK(WriteFields(GrownConfig{.islands = 4}) == "graph: g\nislands: 4\n");
  const std::vector<FieldHelp> fields = DescribeFields<GrownConfig>();
  REQUIRE(fields.size() == 3);
  CHECK(fields[2].key == "islands");
  CHECK(fields[2].default_value == "1");
  CHECK(fields[2].help == "side by side; a number from 1 to 8");
  CHECK(testing::MessageOf<InputError>([] {
          ReadFields<GrownConfig>(ParseYaml("{islands: 9}"));
        }) == "a.yaml:1:11: islands: expected a number from 1 to 8, got 9");
  CHECK(fields[1].key == "order");
  CHECK(fields[1].default_value == "id");
  CHECK(fields[1].help == "of the ops");
}

}  // namespace
