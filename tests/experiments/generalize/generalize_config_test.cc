#include "experiments/generalize/generalize_config.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "tests/experiments/generalize/generalize_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct ConfigFiles : GeneralizeFiles {
  GeneralizePlan Read(const std::string& yaml) const {
    WriteText(folder / "gen.yaml", yaml);
    return ReadGeneralizePlan(folder / "gen.yaml", {}, AllAgents());
  }
  // The message without the folder.
  std::string Refusal(const std::string& yaml) const {
    std::string message = MessageOf<InputError>([&] { Read(yaml); });
    const std::string prefix = folder.path().string() + "/";
    for (size_t at = 0; (at = message.find(prefix)) != std::string::npos;) {
      message.erase(at, prefix.size());
    }
    return message;
  }
  std::string Read() const { return ReadText(folder / "gen.yaml"); }
};

TEST_CASE("a plan looks up families, graphs, clusters, policies and agents") {
  const ConfigFiles files;
  files.WriteFamily(
      "b", "semantics: stream\ncount_gaps: true\ncoarsen: [{merge_cheapest: {groups: 4}}]\n");
  const GeneralizePlan plan = files.Read(files.Read());
  CHECK(plan.name == "gen");
  REQUIRE(plan.families.size() == 2);
  CHECK(plan.families[0].config.name == "a");
  using Paths = std::vector<std::filesystem::path>;
  const auto cluster = files.folder / "c.yaml";  // found beside the family
  CHECK(plan.families[0].train_clusters == Paths{cluster, cluster});
  CHECK(plan.families[0].test_clusters == Paths{cluster, cluster});
  CHECK(plan.families[0].train == Paths{files.folder / "a0.json", files.folder / "a1.json"});
  CHECK(plan.families[1].test == Paths{files.folder / "b2.json", files.folder / "b3.json"});
  CHECK(plan.families[0].simulator.semantics == Semantics::kQueue);
  CHECK(plan.families[1].simulator.semantics == Semantics::kStream);
  CHECK(plan.families[1].simulator.count_gaps);
  REQUIRE(plan.families[1].passes.size() == 1);
  CHECK(plan.families[1].passes[0].name == "merge_cheapest");
  REQUIRE(plan.train.size() == 2);
  CHECK(plan.train[0].agent.label == "gnn");
  CHECK(plan.train[0].updates == 3);
  CHECK_FALSE(plan.train[0].agent.settings.Has("training_updates"));
  REQUIRE(plan.test.size() == 5);
  CHECK(plan.test[0].policy == "gnn");
  CHECK_FALSE(plan.test[0].agent.settings.Has("policy"));
  CHECK(plan.test[3].policy == "");
  CHECK(plan.test[3].budget.evaluations == 5);
  CHECK(plan.test[4].budget.evaluations == 100000);
  CHECK(plan.seeds == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("a method with a policy has the settings of its training where it gives none") {
  const ConfigFiles files;
  const GeneralizePlan plan = files.Read(
      "families: [a.yaml]\n"
      "train: [{name: placeto, training_updates: 1, stay: 0, optimizer: {learning_rate: 0.5},\n"
      "         features: {devices: scored}}]\n"
      "test:\n"
      "  - {name: placeto, label: x, policy: placeto, updates: 7, stay: 1,\n"
      "     optimizer: {clip_norm: 3}}\n"
      "  - {name: placeto, label: y}\n");
  const ConfigNode& with = plan.test[0].agent.settings;
  CHECK(with.At("updates").AsInt() == 7);
  CHECK(with.At("stay").AsInt() == 1);
  CHECK(with.At("features").At("devices").AsString() == "scored");
  CHECK(with.At("optimizer").At("learning_rate").AsDouble() == 0.5);
  CHECK(with.At("optimizer").At("clip_norm").AsDouble() == 3);
  CHECK(plan.test[1].agent.settings.Keys().empty());
  // The training keeps its own.
  CHECK(plan.train[0].agent.settings.At("stay").AsInt() == 0);
}

TEST_CASE("the first graphs of each family, and one cluster for all") {
  const ConfigFiles files;
  WriteText(files.folder / "d.yaml", ClusterYaml("2GiB"));
  const GeneralizePlan plan =
      files.Read(files.Read() + "max_train_graphs: 1\nmax_test_graphs: 1\ncluster: d.yaml\n");
  for (const FamilyPlan& family : plan.families) {
    CHECK(family.train.size() == 1);
    CHECK(family.test.size() == 1);
    CHECK(family.train_clusters == std::vector{files.folder / "d.yaml"});
    CHECK(family.test_clusters == std::vector{files.folder / "d.yaml"});
  }
}

TEST_CASE("graphs of a family on clusters in turn") {
  const ConfigFiles files;
  WriteText(files.folder / "d.yaml", ClusterYaml("2GiB"));
  WriteText(files.folder / "e.yaml", ClusterYaml("3GiB"));
  files.WriteFamily("b", "train_clusters: [d.yaml, e.yaml]\ntest_clusters: [e.yaml]\n");
  const auto families = files.Read(files.Read()).families;
  const FamilyPlan& family = families[1];
  CHECK(Contains(WriteFields(family.config), "train_clusters"));
  CHECK_FALSE(Contains(WriteFields(families[0].config), "_clusters"));  // as before there were any
  CHECK(family.train_clusters == std::vector{files.folder / "d.yaml", files.folder / "e.yaml"});
  CHECK(family.test_clusters == std::vector{files.folder / "e.yaml", files.folder / "e.yaml"});
  files.WriteFamily("b", "train_clusters: [d.yaml, nowhere]\n");
  const std::string message = MessageOf<InputError>([&] { files.Read(files.Read()); });
  CHECK(Contains(message, "b.yaml"));
  CHECK(Contains(message, "nowhere"));
}

TEST_CASE("the committed experiment and every committed family can be planned") {
  const GeneralizePlan plan =
      ReadGeneralizePlan(SourceDir() / "configs/generalization/placeto2019.yaml", {}, AllAgents());
  REQUIRE(plan.families.size() == 3);
  for (const FamilyPlan& family : plan.families) {
    CAPTURE(family.config.name);
    CHECK(family.train.size() + family.test.size() == 32);
  }
  for (const char* config : {"learned_local_search.yaml", "graph_policy.yaml"}) {
    CAPTURE(config);
    const GeneralizePlan learned =
        ReadGeneralizePlan(SourceDir() / "configs/generalization" / config, {}, AllAgents());
    REQUIRE(learned.families.size() == 1);
    const FamilyPlan& family = learned.families[0];
    for (const auto& cluster : family.test_clusters) {  // no machine is in both
      CHECK(std::ranges::count(family.train_clusters, cluster) == 0);
    }
  }
}

TEST_CASE("mistakes in a config are named with their place") {
  const ConfigFiles files;
  const std::string train = "train: [{name: placeto, training_updates: 3}]\n",
                    test = "test: [single_gpu]\n", families = "families: [a.yaml]\n";
  const auto refused = [&](const std::string& yaml, const std::vector<std::string>& fragments) {
    const std::string message = files.Refusal(yaml);
    CAPTURE(message);
    for (const std::string& fragment : fragments) {
      CAPTURE(fragment);
      CHECK(message.find(fragment) != std::string::npos);
    }
  };
  SUBCASE("families") {
    refused("families: [ptc]\n" + test,
            {"gen.yaml:1:12: families.0: unknown family \"ptc\"; did you mean \"ptb\"?"});
    refused("families: []\n" + test, {"gen.yaml:1:11: families: expected at least one family"});
    refused(test, {"gen.yaml:1:1: ", "families"});
    refused("families: [a.yaml, ./a.yaml]\n" + test,
            {"gen.yaml:1:20: families.1: family \"a\" is listed twice"});
    refused("families: [none.yaml]\n" + test, {"none.yaml"});
  }
  SUBCASE("the family's own file") {
    WriteText(files.folder / "a.yaml",
              "name: a\ncluster: c.yaml\ntrain: [a0.json, a1.json]\ntest: [./a1.json]\n");
    refused(families + test, {"a.yaml:4:7: test: ", "a1.json is also a training graph"});
    WriteText(files.folder / "a.yaml", "name: a\ncluster: c.yaml\ntrain: [a0.json]\ntest: []\n");
    refused(families + test, {"a.yaml:4:7: test: expected at least one graph"});
    WriteText(files.folder / "a.yaml", "name: a/b\ncluster: c.yaml\ntrain: [a0.json]\n");
    refused(families + test, {"a.yaml:1:7: name: expected a text without '/'"});
    WriteText(files.folder / "a.yaml", "name: a\ncluster: c.yaml\ntests: [a0.json]\n");
    refused(families + test, {"a.yaml:3:", "\"tests\"", "did you mean \"test\"?"});
    files.WriteFamily("a", "semantics: que\n");
    refused(families + test, {"a.yaml:5:12: semantics: ", "\"que\"", "did you mean \"queue\"?"});
    files.WriteFamily("a", "priority: upward_rank\n");
    refused(families + test, {"a.yaml:5:11: ", "queue semantics has no issue order"});
    files.WriteFamily("a", "semantics: stream\npriority: given\n");
    refused(families + test, {"a.yaml:6:11: priority: one issue order does not fit"});
    files.WriteFamily("a", "semantics: stream\npriority: upward_rank\n");
    CHECK(files.Read(families + test).families[0].priority == Priority::kUpwardRank);
    WriteText(files.folder / "a.yaml",
              "name: a\ncluster: 2xk81\ntrain: [a0.json]\ntest: [a1.json]\n");
    refused(families + test, {"a.yaml:2:10: cluster: unknown cluster \"2xk81\"; did you mean"});
  }
  SUBCASE("policies") {
    const auto with = [&](const std::string& entry) {
      return families + train + "test: [" + entry + "]\n";
    };
    refused(with("{name: placeto, policy: placto}"),
            {"gen.yaml:3:32: test.0.policy: unknown policy \"placto\"; did you mean \"placeto\"?"});
    refused(with("{name: seq2seq, policy: placeto}"),
            {"gen.yaml:3:32: test.0.policy: \"placeto\" is a policy of agent placeto, not of "
             "seq2seq"});
  }
  SUBCASE("trainings") {
    const auto with = [&](const std::string& entry) {
      return families + "train: [" + entry + "]\n" + test;
    };
    refused(
        with("{name: hill_climb, training_updates: 3}"),
        {"gen.yaml:2:9: train.0: the policy of agent \"hill_climb\" does not fit other graphs"});
    refused(with("{name: placeto}"), {"gen.yaml:2:9: train.0: ", "\"training_updates\""});
    refused(with("placeto"), {"gen.yaml:2:9: train.0: "});
    refused(with("{name: placeto, training_updates: 0}"),
            {"gen.yaml:2:43: train.0.training_updates: expected a number of at least 1, got 0"});
    refused(with("{name: placeto, training_updates: 1}, {name: placeto, training_updates: 2}"),
            {"gen.yaml:2:47: train.1: agent \"placeto\" is listed twice"});
  }
  SUBCASE("methods") {
    refused(families + "test: []\n", {"gen.yaml:2:7: test: expected at least one agent"});
    refused(families + "test: [{name: random, evaluations: 0}]\n",
            {"gen.yaml:2:36: test.0.evaluations: expected a number of at least 1, got 0"});
    refused(families + "test: [randon]\n", {"gen.yaml:2:8: ", "did you mean \"random\"?"});
    refused(families, {"gen.yaml:1:1: ", "test"});
  }
  SUBCASE("other keys") {
    refused(families + test + "max_test_graph: 3\n",
            {"gen.yaml:3:1: ", "\"max_test_graph\"", "did you mean \"max_test_graphs\"?"});
    refused(families + test + "seeds: [1, 1]\n", {"gen.yaml:3:8: seeds: seed 1 is listed twice"});
    refused(families + test + "cluster: 2xk81\n",
            {"gen.yaml:3:10: cluster: unknown cluster \"2xk81\"; did you mean"});
  }
}

}  // namespace
