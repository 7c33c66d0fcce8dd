#include "experiments/console/config_edit.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a map's values are added one by one and keep their places") {
  ConfigNode root = ConfigNode::FromString("a: {x: 1, deep: {y: 2, z: 3}}", "first");
  SetValues(root, "a", ConfigNode::FromString("{deep: {y: 5}, new: [1, 2]}", "second"));
  CHECK(root.At("a").At("x").AsInt() == 1);
  CHECK(root.At("a").At("deep").At("y").AsInt() == 5);
  CHECK(root.At("a").At("deep").At("z").AsInt() == 3);
  CHECK(root.At("a").At("new").Elements().size() == 2);
  CHECK(root.At("a").At("deep").At("y").Where().find("second:1:12") == 0);
}

TEST_CASE("values from the command line replace and add keys") {
  const TempDir folder;
  WriteText(folder / "c.yaml", "a: 1\nb: {x: 2}\n");
  const ConfigNode root = ReadWithSettings(folder / "c.yaml", {"a=[3, 4]", "b.y=z=w", "c="});
  CHECK(FlowText(root) == "{a: [3, 4], b: {x: 2, y: z=w}, c: null}");
  for (const char* wrong : {"a", "=1"}) {
    CHECK(MessageOf<InputError>([&] { ReadWithSettings(folder / "c.yaml", {wrong}); }) ==
          fmt::format("--set: expected key=value, got \"{}\"", wrong));
  }
}

TEST_CASE("labels of agents lead to their settings") {
  const std::string agents = "agents: [hill_climb, {name: random, label: dice}, \"python:a.B\"]";
  ConfigNode run = ConfigNode::FromString(agents, "run.yaml");
  ApplySettings(run,
                {"agents.hill_climb.patience=5",
                 "agents.dice.batch=2",
                 "agents.python:a.B.size=3",
                 "agents.0.label=climb",
                 "agents.climb.patience=[6]"});
  CHECK(FlowText(run) ==
        "{agents: [{name: hill_climb, patience: [6], label: climb}, "
        "{name: random, label: dice, batch: 2}, {name: python:a.B, size: 3}]}");
  ApplySettings(run, {"agents.dice=heft"});
  CHECK(FlowText(run.At("agents").Elements()[1]) == "heft");
  CHECK(MessageOf<InputError>([&] { ApplySettings(run, {"agents.clamb.patience=1"}); }) ==
        "--set: agents.clamb.patience: unknown agent \"clamb\"; did you mean \"climb\"? choices: "
        "climb, heft, python:a.B");

  ConfigNode sweep = ConfigNode::FromString(
      "base: {agents: [heft, random]}\noverrides: [{agents: [random]}]", "sweep.yaml");
  ApplySettings(sweep, {"base.agents.random.batch=2", "overrides.0.agents.random.batch=3"});
  CHECK(FlowText(sweep) ==
        "{base: {agents: [heft, {name: random, batch: 2}]}, "
        "overrides: [{agents: [{name: random, batch: 3}]}]}");
}

TEST_CASE("the place of a value, without its key") {
  const ConfigNode root = ConfigNode::FromString("a: {b: 1}", "f.yaml");
  CHECK(root.At("a").At("b").Where() == "f.yaml:1:8: a.b");
  CHECK(PlaceOnly(root.At("a").At("b")) == "f.yaml:1:8");
  CHECK(PlaceOf(root.At("a"), "b").Where() == "f.yaml:1:8: a.b");
  CHECK(PlaceOf(root.At("a"), "c").Where() == root.At("a").Where());
}

TEST_CASE("a value as one line") {
  CHECK(FlowText(ConfigNode::FromString("- a\n- b: {c: 1.50}\n  d: null\n", "f")) ==
        "[a, {b: {c: 1.50}, d: null}]");
}

}  // namespace
