#include "experiments/run/agent_spec.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/console/config_edit.h"
#include "framework/base/error.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::vector<AgentSpec> Parse(const std::string& list,
                             const std::filesystem::path& beside = {},
                             std::span<const std::string> own_keys = {}) {
  return ParseAgents(ConfigNode::FromString("agents: " + list, "f.yaml").At("agents"),
                     AllAgents(),
                     beside,
                     own_keys);
}

std::string SpecRefusal(const std::string& list) {
  return MessageOf<InputError>([&] { Parse(list); });
}

TEST_CASE("a name, or a map with a label and settings") {
  const std::vector<std::string> own = {"mine"};
  const auto specs = Parse("[heft, {name: random, label: dice, mine: 3, batch: 2}]", {}, own);
  REQUIRE(specs.size() == 2);
  CHECK(specs[0].label == "heft");
  CHECK(specs[0].settings.Keys().empty());
  CHECK(specs[1].entry->name == "random");
  CHECK(specs[1].label == "dice");
  CHECK(specs[1].settings.Keys() == std::vector<std::string>{"batch"});
  CHECK(specs[1].settings.At("batch").Where().find("f.yaml:1:60: ") == 0);
}

TEST_CASE("one start for all agents that have one, unless they say another") {
  const auto specs =
      ParseAgents(ConfigNode::FromString(
                      "[heft, {name: hill_climb, batch: 2}, {name: tabu, start: [etf]}]", "f.yaml"),
                  AllAgents(),
                  {},
                  {},
                  "none");
  CHECK(specs[0].settings.Keys().empty());
  CHECK(FlowText(specs[1].settings) == "{start: [none], batch: 2}");
  CHECK(FlowText(specs[2].settings) == "{start: [etf]}");
}

TEST_CASE("the name of an agent in another language may hold dots") {
  AgentRegistry registry;
  registry.AddLoader("other:", [](const std::string& name, const std::string&) {
    return AgentEntry{name, "", {}, {}, [] { return std::vector<FieldHelp>(); }};
  });
  const auto specs = ParseAgents(
      ConfigNode::FromString("[{name: \"other:a.b.C\", size: 3, inner: {x: 1}}]", "f.yaml"),
      registry,
      {});
  CHECK(specs[0].label == "other:a.b.C");
  CHECK(FlowText(specs[0].settings) == "{size: 3, inner: {x: 1}}");
}

TEST_CASE("mistakes are named with their place") {
  CHECK(SpecRefusal("[]") == "f.yaml:1:9: agents: expected at least one agent");
  CHECK(SpecRefusal("[haft]").find("f.yaml:1:10: agents.0: unknown agent \"haft\"; did you mean "
                                   "\"heft\"?") == 0);
  CHECK(SpecRefusal("[heft, heft]") ==
        "f.yaml:1:16: agents.1: agent \"heft\" is listed twice; give each entry its own label, as "
        "in {name: heft, label: ...}");
  for (const char* label : {"a/b", "../x", "/etc/x", ".", "..", R"("")", R"("con\0")"}) {
    CAPTURE(label);
    CHECK(SpecRefusal(fmt::format("[{{name: heft, label: {}}}]", label)) ==
          "f.yaml:1:30: agents.0.label: expected a text without '/' and control characters, not . "
          "or .., of 1 to 255 bytes");
  }
  CHECK(Parse("[{name: heft, label: -rf}]")[0].label == "-rf");
  CHECK(SpecRefusal("[{name: heft, label: \"a, b\"}]") ==
        "f.yaml:1:30: agents.0.label: expected a text without \", \", which separates labels, got "
        "\"a, b\"");
}

TEST_CASE("a policy is looked for here, then beside the config") {
  const TempDir folder;
  const auto policy = [&](const std::string& text) {
    return Parse("[{name: placeto, policy: " + text + "}]", folder.path())[0]
        .settings.At("policy")
        .AsString();
  };
  CHECK(policy("x.policy") == "x.policy");  // nowhere: the agent will say so
  WriteText(folder / "x.policy", "");
  CHECK(policy("x.policy") == folder / "x.policy");
  CHECK(policy((folder / "x.policy").string()) == folder / "x.policy");
  CHECK(policy("\"\"") == "");
  const TempDir other;
  WriteText(other / "x.policy", "");
  const std::string here =
      std::filesystem::relative(other / "x.policy", std::filesystem::current_path()).string();
  CHECK(policy(here) == here);
}

}  // namespace
