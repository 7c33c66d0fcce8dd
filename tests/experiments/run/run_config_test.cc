#include "experiments/run/run_config.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/problem/load.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::vector<std::uint64_t> Seeds(const std::string& yaml) {
  return ParseSeeds(ConfigNode::FromString("seeds: " + yaml, "test").At("seeds"));
}

std::string SeedsError(const std::string& yaml) {
  return MessageOf<InputError>([&] { Seeds(yaml); });
}

TEST_CASE("seeds are numbers and ranges without their end") {
  using List = std::vector<std::uint64_t>;
  CHECK(Seeds("[3, 1, 2]") == List{3, 1, 2});
  CHECK(Seeds("0:3") == List{0, 1, 2});
  CHECK(Seeds("\"5:7\"") == List{5, 6});
  CHECK(Seeds("[0:2, 9]") == List{0, 1, 9});
  CHECK(Seeds("[7]") == List{7});
}

TEST_CASE("bad seeds") {
  // emplace.run(seeds=3) of the Python package makes three searches.
  CHECK(SeedsError("3").ends_with(
      ": got 3; expected [3] for seed 3, or 0:N for the seeds 0 to N - 1"));
  CHECK(SeedsError("[]").find("at least one seed") != std::string::npos);
  CHECK(SeedsError("[1, 1]").find("seed 1 is listed twice") != std::string::npos);
  CHECK(SeedsError("3:3").find("contains no seed") != std::string::npos);
  CHECK(SeedsError("0:99999999").find("more than 100000 seeds") != std::string::npos);
  CHECK(SeedsError("[x]").find("expected a seed >= 0 or a range such as 0:5, got \"x\"") !=
        std::string::npos);
  CHECK(SeedsError("[-1]").find("got \"-1\"") != std::string::npos);
  CHECK(SeedsError("99999999999999999999").find("expected a seed") != std::string::npos);
}

TEST_CASE("a plan looks everything up and can be written and read back") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto path = folder / "mine.yaml";
  WriteText(path,
            "graph: g.json\ncluster: c.yaml\n"
            "agents: [heft, {name: random, label: dice}]\nseeds: 0:2\n"
            "budget: {evaluations: 10}\nsemantics: stream\nthreads: 3\n");
  const RunPlan plan =
      ReadRunPlan(path, {"budget.steps=4", "coarsen=[scope: {depth: 2}]"}, AllAgents());
  CHECK(plan.name == "mine");
  CHECK(plan.graph == folder / "g.json");  // found beside the config
  CHECK(plan.cluster == folder / "c.yaml");
  CHECK(plan.simulator.semantics == Semantics::kStream);
  CHECK(plan.simulator.threads == 3);
  CHECK(plan.budget.evaluations == 10);
  CHECK(plan.budget.steps == 4);
  CHECK(plan.budget.seconds == 30);
  REQUIRE(plan.passes.size() == 1);
  CHECK(plan.passes[0].name == "scope");
  CHECK(plan.passes[0].depth == 2);
  REQUIRE(plan.agents.size() == 2);
  CHECK(plan.agents[0].label == "heft");
  CHECK(plan.agents[1].label == "dice");
  CHECK(plan.agents[1].entry->name == "random");
  CHECK(plan.agents[1].settings.Keys().empty());

  WriteText(path, plan.ResolvedYaml());
  CHECK(ReadRunPlan(path, {}, AllAgents()).ResolvedYaml() == plan.ResolvedYaml());
  RunPlan open = ReadRunPlan(path, {"threads=0"}, AllAgents());
  CHECK(open.simulator.threads == NumCores());
  open.ShareCores(2);
  CHECK(open.simulator.threads == std::max(1, NumCores() / 2));
  open.ShareCores(10'000);
  CHECK(open.simulator.threads == 1);
  open.ShareCores(2, 12);  // what ranks of one machine are given
  CHECK(open.simulator.threads == 6);
  RunPlan given = ReadRunPlan(path, {"threads=3"}, AllAgents());
  given.ShareCores(10'000);
  CHECK(given.simulator.threads == 3);
}

TEST_CASE("a GPU simulates stream semantics and step times alone") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto path = folder / "run.yaml";
  const auto plan = [&](const std::string& rest) {
    WriteText(path, "graph: g.json\ncluster: c.yaml\nagents: [heft]\n" + rest);
    return ReadRunPlan(path, {}, AllAgents());
  };
  const auto refusal = [&](const std::string& rest) {
    return MessageOf<InputError>([&] { plan(rest); });
  };
  CHECK_FALSE(plan("").config.gpu);
  CHECK(plan("semantics: stream\ngpu: 1\n").config.gpu == 1);
  CHECK_FALSE(plan("gpu: none\n").config.gpu);
  CHECK(refusal("gpu: 0\n") == path.string() +
                                   ":4:6: gpu: a GPU simulates stream semantics and not queue; "
                                   "leave out gpu or set it to none");
  CHECK(refusal("semantics: stream\nobjective: period\ngpu: 0\n") ==
        path.string() +
            ":6:6: gpu: a GPU simulates step times and not the period; leave out gpu or set it to "
            "none");
}

TEST_CASE("a preset's settings hold where the entry does not say otherwise") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  const auto settings = [&](const std::string& agent) {
    WriteText(folder / "run.yaml", "graph: g.json\ncluster: c.yaml\nagents: [" + agent + "]\n");
    const RunPlan plan = ReadRunPlan(folder / "run.yaml", {}, AllAgents());
    return ConfigNode::FromString(plan.agents[0].entry->resolve_settings(plan.agents[0].settings),
                                  "resolved");
  };
  const ConfigNode paper = settings("{name: seq2seq, preset: paper, optimizer: {beta1: 0.5}}");
  const ConfigNode file =
      ConfigNode::FromFile(SourceDir() / "configs" / "agents" / "seq2seq_paper.yaml");
  CHECK(paper.At("hidden").AsInt() == file.At("hidden").AsInt());
  CHECK(paper.At("baseline").At("method").AsString() == "moving_average");
  CHECK(paper.At("optimizer").At("learning_rate").AsDouble() ==
        file.At("optimizer").At("learning_rate").AsDouble());
  CHECK(paper.At("optimizer").At("beta1").AsDouble() == 0.5);
  CHECK(settings("seq2seq").At("baseline").At("method").AsString() == "leave_one_out");

  WriteText(folder / "mine.yaml", "name: hill_climb\nbatch: 7\n");
  CHECK(settings("{name: hill_climb, preset: ./mine.yaml}").At("batch").AsInt() == 7);
  const auto refusal = [&](const std::string& agent) {
    return MessageOf<InputError>([&] { settings(agent); });
  };
  CHECK(refusal("{name: random, preset: ./mine.yaml}")
            .find("mine.yaml:1:7: name: expected settings"
                  " of \"random\", got \"hill_climb\"") != std::string::npos);
  CHECK(refusal("{name: seq2seq, preset: papr}").find("did you mean \"paper\"") !=
        std::string::npos);
}

TEST_CASE("every committed run config can be planned") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(SourceDir() / "configs")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path());
    const RunPlan plan = ReadRunPlan(file.path(), {}, AllAgents());
    CHECK(plan.graph == SourceDir() / "configs/graphs" / (plan.config.graph + ".json.gz"));
    ++count;
  }
  CHECK(count >= 1);
}

TEST_CASE("passes never split the graph's own labels: colocate comes first, listed or not") {
  const Graph graph(
      "g",
      {Tensor{.bytes = 1}, Tensor{.bytes = 1}, Tensor{.bytes = 1}},
      {Op{.name = "w", .kind = "parameter", .outputs = {0}, .colocate = "w"},
       Op{.name = "mul", .kind = "Mul", .inputs = {0}, .outputs = {1}},
       Op{.name = "apply", .kind = "Apply", .inputs = {1}, .outputs = {2}, .colocate = "w"}});
  std::vector<std::string> applied;
  const Grouping grouping =
      ApplyPasses(graph, {}, {1, 1, 1}, [&](const CoarseningPass& pass, const Grouping&) {
        applied.push_back(pass.name);
      });
  CHECK(applied == std::vector<std::string>{"colocate"});
  CHECK(grouping.num_groups() == 2);
  CHECK(grouping.group_of(0) == grouping.group_of(2));
}

TEST_CASE("a priority belongs to stream semantics; an issue order is a placement file's") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  const std::string devices =
      R"("devices": {"a": "cpu:0", "b": "cpu:0", "c": "cpu:0", "d": "cpu:0"})";
  const std::string head = R"({"format": "emplace-placement", "version": 1, )";
  WriteText(folder / "p.json", head + R"("issue_order": ["a", "c", "b", "d"], )" + devices + "}");
  WriteText(folder / "bare.json", head + devices + "}");
  const auto plan_of = [&](const std::string& more) {
    WriteText(folder / "run.yaml", "graph: g.json\ncluster: c.yaml\nagents: [heft]\n" + more);
    return ReadRunPlan(folder / "run.yaml", {}, AllAgents());
  };
  const auto graph = LoadGraph(folder / "g.json");
  const LoadedProblem problem =
      MakeProblem(graph, LoadCluster(folder / "c.yaml"), {}, Objective::kStepTime, false, "test");
  const auto order_of = [&](const std::string& more) {
    return plan_of(more).SimulatorFor(*problem.exact).issue_order;
  };

  CHECK(order_of("semantics: stream\n").empty());
  CHECK(plan_of("").ResolvedYaml().find("priority") == std::string::npos);
  // b and c have the same rank, and so b, of less id, goes first.
  const std::string by_rank = "semantics: stream\npriority: upward_rank\n";
  CHECK(order_of(by_rank) == std::vector<int>{0, 1, 2, 3});
  CHECK(plan_of(by_rank).ResolvedYaml().find("priority: upward_rank\n") != std::string::npos);
  const std::string given = "semantics: stream\npriority: given\n";
  CHECK(order_of(given + "issue_order: p.json\n") == std::vector<int>{0, 2, 1, 3});  // beside it

  const auto error_of = [&](const std::string& more) {
    return MessageOf<InputError>([&] { order_of(more); });
  };
  const auto names = [&](const std::string& more, const std::string& part) {
    CAPTURE(error_of(more));
    CHECK(error_of(more).find(part) != std::string::npos);
  };
  names("priority: upward_rank\n",
        "run.yaml:4:11: priority: queue semantics has no issue order; expected priority id");
  names("semantics: stream\npriority: rank\n",
        "run.yaml:5:11: priority: unknown priority \"rank\"");
  names(given, "priority: priority given needs issue_order: FILE");
  names("issue_order: p.json\n", "issue_order: only priority given takes an issue order");
  names(given + "issue_order: p.json\nsimulate_groups: true\n",
        "does not apply to simulate_groups: true");
  names(given + "issue_order: none.json\n", "none.json: cannot be read");
  names(given + "issue_order: bare.json\n",
        "bare.json: issue_order is missing, which priority given needs");
}

}  // namespace
