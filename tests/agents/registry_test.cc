#include "agents/registry.h"

#include <cctype>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/shared/policy_file.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "simulator/simulator.h"
#include "tests/support/agent_contract.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/text.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The contract's problems have an op of this kind of name each.
std::string RequiredSettings(const std::string& agent) {
  return agent == "expert" ? "{rules: [{match: \"*\", device: \"*\"}]}" : "{}";
}

std::shared_ptr<const Problem> RegistryProblem() {
  Rng rng(5);
  return MixedProblem(rng, 12, 2, kUnlimitedMemory);
}

std::string RefusalOf(const std::string& agent, const std::string& settings) {
  return MessageOf<InputError>([&] {
    AllAgents()
        .Find(agent, "test")
        .make({RegistryProblem(), 1}, ConfigNode::FromString(settings, "run.yaml"));
  });
}

TEST_CASE("every agent keeps the contract") {
  for (const AgentEntry& entry : AllAgents().entries()) {
    CheckAgentContract(entry, RequiredSettings(entry.name));
  }
}

TEST_CASE("names are sorted and unique, and every agent has a sentence") {
  std::string previous;
  for (const AgentEntry& entry : AllAgents().entries()) {
    CHECK(previous < entry.name);
    CHECK_FALSE(entry.sentence.empty());
    CHECK_FALSE(entry.growth.empty());
    previous = entry.name;
  }
  CHECK(AllAgents().entries().size() >= 20);
}

TEST_CASE("agents whose time grows with the square of the groups refuse large graphs") {
  ProblemBuilder builder = Gpus(2);
  for (int v = 0; v <= 20'000; ++v) builder.Op(fmt::format("op{}", v), {1});
  const auto problem = builder.Build();
  const ConfigNode settings = ConfigNode::FromString("{}", "run.yaml");
  for (const AgentEntry& entry : AllAgents().entries()) {
    CAPTURE(entry.name);
    const bool refuses = entry.name == "placeto" || entry.name == "seq2seq";
    CHECK((entry.most_groups == 20'000) == refuses);
    if (!refuses) continue;
    const std::string message = MessageOf<InputError>([&] { entry.make({problem, 1}, settings); });
    CHECK(Contains(message, "run.yaml"));
    CHECK(Contains(message,
                   "has 20001 groups, expected at most 20000: time and memory of a step are "
                   "quadratic in groups; coarsen it"));
    CHECK(MessageOf<InputError>([&] { entry.make_trainer({{problem}, 1}, settings); }) == message);
  }
}

TEST_CASE("every agent searches for the period, or refuses it") {
  const auto problem = WithObjective(*RegistryProblem(), Objective::kPeriod);
  int searched = 0;
  for (const AgentEntry& entry : AllAgents().entries()) {
    CAPTURE(entry.name);
    std::unique_ptr<Agent> agent;
    try {
      agent = entry.make({problem, 1},
                         ConfigNode::FromString(RequiredSettings(entry.name), "run.yaml"));
    } catch (const InputError& error) {
      CHECK(Contains(error.what(), "period"));
      continue;
    }
    CHECK_FALSE(RunAgent(*agent, problem, 60).placements.empty());
    ++searched;
  }
  CHECK(searched >= 25);
}

TEST_CASE("agents of one objective refuse problems of the other") {
  for (const char* agent : {"max_load_dp", "period_multilevel", "period_mip"}) {
    const std::string message = RefusalOf(agent, "{}");
    CHECK(Contains(message, "run.yaml"));
    CHECK(Contains(message,
                   "the agent searches for the period only, but the objective is step_time; set "
                   "\"objective: period\" or use another agent"));
  }
}

// Files of a policy as it is before training: without settings, and with `settings` beside those of
// the network.
struct PolicyFiles {
  PolicyFiles(const AgentEntry& entry, const std::string& network, const std::string& settings) {
    ConfigNode given = ConfigNode::FromString(network, "train.yaml");
    std::ostringstream policy;
    entry.make_trainer({{RegistryProblem()}, 1}, given)->SavePolicy(policy);
    WriteFileAtomically(old_path(), policy.str());
    const ConfigNode more = ConfigNode::FromString(settings, "train.yaml");
    for (const std::string& key : more.Keys()) given.Put(key, more.At(key));
    WriteFileAtomically(path(), PolicyFileText(policy.str(), entry.resolve_settings(given)));
  }
  std::string path() const { return (folder / "new.policy").string(); }
  std::string old_path() const { return (folder / "old.policy").string(); }
  TempDir folder;
};

TEST_CASE("a trained policy brings the settings that it was trained with") {
  int agents = 0;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (!entry.make_trainer) continue;
    CAPTURE(entry.name);
    ++agents;
    const PolicyFiles files(entry, "{}", "{start: [single_gpu]}");
    const auto start = [&](const std::string& settings) {
      const ConfigNode given = ConfigNode::FromString(settings, "run.yaml");
      entry.make({RegistryProblem(), 1}, given);
      const std::string all = entry.resolve_settings(given);
      const ConfigNode names = ConfigNode::FromString(all, "all").At("start");
      std::string text;
      for (const ConfigNode& name : names.Elements()) text += name.AsString() + " ";
      return text;
    };
    CHECK(start("{}") != "single_gpu ");
    CHECK(start(fmt::format("{{policy: {}}}", files.path())) == "single_gpu ");
    CHECK(start(fmt::format("{{policy: {}, start: [heft]}}", files.path())) == "heft ");
    CHECK(start(fmt::format("{{policy: {}}}", files.old_path())) == start("{}"));
  }
  CHECK(agents == 4);
}

TEST_CASE("settings that contradict a policy's structure are refused with both values") {
  for (const char* name : {"graph_policy", "placeto"}) {
    CAPTURE(name);
    const AgentEntry& entry = AllAgents().Find(name, "test");
    const PolicyFiles files(entry, "{width: 8, rounds: 2}", "{}");
    const std::string policy = fmt::format("policy: \"{}\"", files.path());
    const auto make = [&](const std::string& settings) {
      entry.make({RegistryProblem(), 1}, ConfigNode::FromString(settings, "run.yaml"));
    };
    make("{" + policy + "}");
    make("{" + policy + ", width: 8}");
    const std::string message = MessageOf<InputError>([&] { make("{" + policy + ", rounds: 3}"); });
    CHECK(message.starts_with("run.yaml:1:"));
    CHECK(Contains(message, "3"));
    CHECK(Contains(message, "trained with"));
    CHECK(Contains(message, "2"));
  }
  const AgentEntry& entry = AllAgents().Find("graph_policy", "test");
  const PolicyFiles files(entry, "{width: 8}", "{}");
  CHECK(Contains(RefusalOf("graph_policy", fmt::format("{{policy: {}, width: 24}}", files.path())),
                 fmt::format("width: got 24; the policy \"{}\" was trained with 8", files.path())));
}

TEST_CASE("an interrupt ends a construction") {
  Rng rng(3);
  const auto problem = MixedProblem(rng, 30, 2, kUnlimitedMemory);
  const std::unique_ptr<Evaluator> simulator = MakeSimulator(problem, {});
  for (const char* name : {"cpop", "etf", "heft", "m_etf", "peft"}) {
    CAPTURE(name);
    static int asked = 0;
    asked = 0;
    const Interrupt third([] { return ++asked == 3; });
    const AgentContext context{.problem = problem, .end_construction = third};
    const auto agent = AllAgents().Find(name, "test").make(context, ConfigNode());
    CHECK_THROWS_AS(agent->Step(*simulator), Interrupted);
    CHECK(asked == 3);
  }
}

TEST_CASE("an unknown agent is answered with the nearest one") {
  const std::string message =
      MessageOf<InputError>([] { AllAgents().Find("hefty", "run.yaml:3:5"); });
  CHECK(Contains(message, "run.yaml:3:5"));
  CHECK(Contains(message, "did you mean \"heft\""));
}

TEST_CASE("an agent in Python without the package says what to do") {
  CHECK(MessageOf<InputError>([] { AllAgents().Find("python:mine.Agent", "run.yaml:3:5"); }) ==
        "run.yaml:3:5: \"python:mine.Agent\" is an agent written in Python, which needs the "
        "command `emplace` of the Python package: pip install ./scripts/emplace");
}

TEST_CASE(
    "every agent's file lists all its settings with their defaults and a mark of confidence") {
  for (const AgentEntry& entry : AllAgents().entries()) {
    CAPTURE(entry.name);
    const auto path = SourceDir() / "configs" / "agents" / (entry.name + ".yaml");
    const ConfigNode file = ConfigNode::FromFile(path);
    CHECK(file.At("name").AsString() == entry.name);
    std::set<std::string> described, listed;
    for (const FieldHelp& field : entry.describe_settings()) {
      CAPTURE(field.key);
      described.insert(field.key.substr(0, field.key.find('.')));
      ConfigNode node = file;
      for (std::string key = field.key; !key.empty();) {
        const std::size_t dot = key.find('.');
        REQUIRE(node.Has(key.substr(0, dot)));
        node = node.At(key.substr(0, dot));
        key = dot == std::string::npos ? "" : key.substr(dot + 1);
      }
      if (node.IsMap()) continue;  // a group, or rules that have no default
      const ConfigNode expected = ConfigNode::FromString(field.default_value, "default");
      if (node.IsScalar() && expected.IsScalar() && node.AsString() != expected.AsString()) {
        CHECK(node.AsDouble() == expected.AsDouble());
      } else {
        CHECK(node.Dump() == expected.Dump());
      }
    }
    for (const std::string& key : file.Keys()) {
      if (key != "name") listed.insert(key);
    }
    CHECK(listed == described);
  }
}

TEST_CASE("every file of agents holds settings of an agent") {
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceDir() / "configs" / "agents")) {
    CAPTURE(entry.path().string());
    const ConfigNode file = ConfigNode::FromFile(entry.path());
    if (!file.Has("name")) {
      CHECK(file.Has("rules"));  // of the expert
      continue;
    }
    const AgentEntry& agent = AllAgents().Find(file.At("name").AsString(), "test");
    ConfigNode settings = ConfigNode::FromString("{}", entry.path().string());
    for (const std::string& key : file.Keys()) {
      if (key != "name") settings.Set(key, file.At(key).Dump(), "test");
    }
    CHECK_FALSE(agent.resolve_settings(settings).empty());
  }
}

TEST_CASE("settings that make no sense are refused with file, place, value and choices") {
  CHECK(RefusalOf("single_device", "{device: gpu:9}") ==
        "run.yaml:1:10: device: cluster \"test_cluster\" has no device \"gpu:9\"; did you mean "
        "\"gpu:0\"? choices: cpu:0, gpu:0, gpu:1, gpu, cpu, all");
  CHECK(Contains(RefusalOf("heft", "{devices: \"tpu:*\"}"), "has no device \"tpu:*\""));
  CHECK(Contains(RefusalOf("hill_climb", "{start: [single, hefd]}"),
                 "start: unknown start \"hefd\"; did you mean \"heft\"?"));
  CHECK(Contains(RefusalOf("hill_climb", "{start: []}"), "start: expected at least one of"));
  const std::string nested = RefusalOf("simulated_annealing", "{moves: {swap: -2}}");
  CAPTURE(nested);
  CHECK(Contains(nested, "run.yaml:1:16: moves.swap: expected a number of at least 0, got -2"));
  CHECK(Contains(
      RefusalOf("simulated_annealing", "{moves: {single: 0, swap: 0, neighbors: 0, block: 0}}"),
      "moves: expected a weight above 0 of single, swap, neighbors or block, all are 0"));
  CHECK(Contains(RefusalOf("random", "{batch: many}"), "many"));
}

// A setting that is a word, or a list of them, is one of several names, of devices, or a file.
TEST_CASE("every setting that is a name refuses an unknown one by key and value") {
  int settings = 0, optimizers = 0;
  for (const AgentEntry& entry : AllAgents().entries()) {
    for (const FieldHelp& field : entry.describe_settings()) {
      std::string word = field.default_value;
      const bool list = word.starts_with("[");
      word = word.substr(list ? 1 : 0);
      if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0) continue;
      if (word == "true" || word == "false") continue;
      CAPTURE(entry.name);
      CAPTURE(field.key);
      std::string map = list ? "[cube]" : "cube";
      for (std::string rest = field.key; !rest.empty();) {
        const std::size_t key = rest.find_last_of('.') + 1;  // 0: there is none
        map = fmt::format("{{{}: {}}}", rest.substr(key), map);
        rest.resize(key == 0 ? 0 : key - 1);
      }
      const ConfigNode given = ConfigNode::FromString(map, "run.yaml");
      const std::string message = MessageOf<InputError>([&] {
        entry.make({RegistryProblem(), 1}, given);
      });
      CAPTURE(message);
      CHECK(message.starts_with("run.yaml:1:"));
      CHECK(Contains(message, field.key + ": "));
      CHECK(Contains(message, "cube"));
      ++settings;
      if (field.key != "optimizer.method") continue;
      CHECK(Contains(message,
                     "optimizer.method: unknown method \"cube\"; choices: adam, rmsprop, sgd"));
      ++optimizers;
      if (!entry.make_trainer) continue;
      CHECK(MessageOf<InputError>([&] {
              entry.make_trainer({{RegistryProblem()}, 1}, given);
            }) == message);
    }
  }
  CHECK(settings > 30);
  CHECK(optimizers == 6);
}

TEST_CASE("a class of devices that the cluster lacks is refused") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Op("op", {1});
  const std::string message = MessageOf<InputError>([&] {
    AllAgents().Find("single_cpu", "test").make({builder.Build(), 1}, ConfigNode());
  });
  CAPTURE(message);
  CHECK(Contains(message,
                 "cluster \"test_cluster\" has no device of class cpu; its devices: \"gpu:0\""));
}

}  // namespace
