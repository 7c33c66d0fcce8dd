#include "experiments/sweep/sweep_config.h"

#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "framework/base/error.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct ConfigFiles {
  TempDir folder;
  ConfigFiles() {
    WriteText(folder / "g.json", DiamondJson());
    WriteText(folder / "h.json", DiamondJson());
    WriteText(folder / "c.yaml", ClusterYaml());
  }
  SweepPlan Read(const std::string& text, const std::vector<std::string>& settings = {}) const {
    WriteText(folder / "s.yaml", text);
    return ReadSweepPlan(folder / "s.yaml", settings, AllAgents());
  }
  std::string Refusal(const std::string& text,
                      const std::vector<std::string>& settings = {}) const {
    return MessageOf<InputError>([&] { Read(text, settings); });
  }
};

const std::string kBase =
    "base:\n"
    "  graph: g.json\n"
    "  cluster: c.yaml\n"
    "  agents: [heft, hill_climb, {name: random, label: dice}]\n"
    "  seeds: 0:3\n"
    "  budget: {evaluations: 10, seconds: none}\n";

std::vector<std::string> Descriptions(const SweepPlan& plan) {
  std::vector<std::string> texts;
  for (const SweepRun& run : plan.runs) texts.push_back(run.description);
  return texts;
}

TEST_CASE("one run config: each agent with each seed, without chance once") {
  const ConfigFiles files;
  const SweepPlan plan = files.Read(kBase);
  CHECK(plan.name == "s");
  CHECK(plan.configs.size() == 1);
  CHECK(Descriptions(plan) ==
        std::vector<std::string>{"graph=g.json cluster=c.yaml agent=heft",
                                 "graph=g.json cluster=c.yaml agent=hill_climb seed=0",
                                 "graph=g.json cluster=c.yaml agent=hill_climb seed=1",
                                 "graph=g.json cluster=c.yaml agent=hill_climb seed=2",
                                 "graph=g.json cluster=c.yaml agent=dice seed=0",
                                 "graph=g.json cluster=c.yaml agent=dice seed=1",
                                 "graph=g.json cluster=c.yaml agent=dice seed=2"});

  const RunPlan run = PlanOfRun(plan, plan.runs[5]);
  REQUIRE(run.agents.size() == 1);
  CHECK(run.agents[0].label == "dice");
  CHECK(run.seeds == std::vector<std::uint64_t>{1});
  // What is stored beside the results is a run config of this run alone.
  WriteText(files.folder / "one.yaml", run.ResolvedYaml());
  const RunPlan again = ReadRunPlan(files.folder / "one.yaml", {}, AllAgents());
  CHECK(again.agents.size() == 1);
  CHECK(again.agents[0].label == "dice");
  CHECK(again.ResolvedYaml() == run.ResolvedYaml());
}

TEST_CASE("problems are described by graph and cluster, or by the instance that is both") {
  CHECK(DescribeProblem("nmt", "./two.yaml") == "graph=nmt cluster=./two.yaml");
  CHECK(DescribeProblem("/a.b/nmt_24.json.gz", "/a.b/nmt_24.json.gz") == "instance=nmt_24");
}

TEST_CASE("the grid is a product, its first key changes slowest") {
  const ConfigFiles files;
  const SweepPlan plan = files.Read(
      kBase + "grid:\n  graph: [g.json, h.json]\n  budget: {evaluations: [10, 20, 30]}\n");
  CHECK(plan.configs.size() == 6);   // 2 x 3
  CHECK(plan.runs.size() == 6 * 7);  // heft once, two agents with three seeds
  CHECK(plan.configs[1].budget.evaluations == 20);
  CHECK(plan.configs[1].config.graph == "g.json");
  CHECK(plan.configs[3].config.graph == "h.json");
  CHECK(plan.runs[7].description == "graph=g.json cluster=c.yaml budget.evaluations=20 agent=heft");
}

TEST_CASE("draws are runs of every combination of the grid, and are labelled by their values") {
  const ConfigFiles files;
  const std::string text = kBase +
                           "grid: {graph: [g.json, h.json]}\n"
                           "draw:\n"
                           "  agents.hill_climb.batch: {int: [1, 1000]}\n"
                           "  agents.hill_climb.start: {choice: [[random], [single_gpu]]}\n"
                           "draws: 5\n";
  const SweepPlan plan = files.Read(text);
  CHECK(plan.configs.size() == 10);
  // Of each graph: heft, three seeds of dice, and three of hill_climb with each draw.
  CHECK(plan.runs.size() == 2 * (1 + 3 + 5 * 3));
  std::set<std::string> labels;
  for (const SweepRun& run : plan.runs) {
    labels.insert(plan.configs[run.config].agents[run.agent].label);
  }
  CHECK(labels.size() == 2 + 5);
  for (const std::string& label : labels) {
    if (!label.starts_with("hill_climb")) continue;
    CAPTURE(label);
    CHECK(label.starts_with("hill_climb batch="));
    CHECK((label.ends_with(" start=[random]") || label.ends_with(" start=[single_gpu]")));
  }
  CHECK(Descriptions(files.Read(text)) == Descriptions(plan));
  CHECK(Descriptions(files.Read(text + "draw_seed: 1\n")) != Descriptions(plan));

  const std::string batch = kBase + "draw: {agents.hill_climb.batch: {int: [1, 64]}}\n";
  CHECK(Contains(files.Refusal(batch + "grid: {agents.hill_climb.batch: [2]}\n"),
                 "is also in the grid"));
  CHECK(Contains(files.Refusal(batch + "draws: 50000\n"), "draws: 50000, times agents and seeds"));
  CHECK(Contains(files.Refusal(kBase + "draw: {agents.hil_climb.batch: {int: [1, 2]}}\n"),
                 "did you mean \"hill_climb\""));
  CHECK(Contains(files.Refusal(kBase + "draw: {semantics: {choice: [queue, steam]}}\n"),
                 "did you mean \"stream\""));
}

TEST_CASE("agents and seeds of a grid are taken one by one") {
  const ConfigFiles files;
  const SweepPlan plan = files.Read(kBase + "grid: {agents: [hill_climb, heft], seeds: 4:6}\n");
  CHECK(plan.configs.size() == 1);
  CHECK(plan.runs.size() == 3);
  CHECK(plan.runs[1].seed == 5);
}

TEST_CASE("an override stands in the place of base, the scale in that of all") {
  const ConfigFiles files;
  const std::string text =
      kBase +
      "overrides:\n"
      "  - {agents: [heft], budget: {evaluations: 50}}\n"
      "  - {graph: h.json, agents.dice.label: coin, coarsen: [colocate, {scope: {depth: 2}}]}\n"
      "grid: {semantics: [queue, stream]}\n"
      "scales: {small: {budget.evaluations: 5, seeds: [9]}}\n";
  const SweepPlan full = files.Read(text);
  CHECK(full.runs.size() == 2 * (1 + 7));
  CHECK(full.configs[0].budget.evaluations == 50);
  CHECK(full.configs[2].budget.evaluations == 10);
  CHECK(full.configs[2].agents[2].label == "coin");
  CHECK(full.configs[2].passes.size() == 2);
  CHECK(full.configs[3].simulator.semantics == Semantics::kStream);

  const SweepPlan small = files.Read(text, {"scale=small"});
  CHECK(small.runs.size() == 2 * (1 + 3));
  for (const RunPlan& config : small.configs) {
    CHECK(config.budget.evaluations == 5);
    CHECK(config.seeds == std::vector<std::uint64_t>{9});
  }
}

TEST_CASE("a setting of an agent in the grid goes into its label; the others run once") {
  const ConfigFiles files;
  const SweepPlan plan = files.Read(
      kBase + "grid: {agents.hill_climb.batch: [2, 3], agents.hill_climb.patience: [5, 6]}\n");
  CHECK(plan.configs.size() == 4);
  CHECK(plan.runs.size() == 4 * 3 + 4);  // hill_climb each time, heft and dice with the first
  CHECK(plan.num_equal == 3 * 4);
  std::set<std::string> labels;
  for (const SweepRun& run : plan.runs) {
    labels.insert(plan.configs[run.config].agents[run.agent].label);
  }
  CHECK(labels == std::set<std::string>{"heft",
                                        "dice",
                                        "hill_climb batch=2 patience=5",
                                        "hill_climb batch=2 patience=6",
                                        "hill_climb batch=3 patience=5",
                                        "hill_climb batch=3 patience=6"});
}

TEST_CASE("runs may begin with a run config") {
  const ConfigFiles files;
  WriteText(files.folder / "run.yaml",
            "graph: h.json\ncluster: c.yaml\nagents: [heft, etf]\nseeds: [7]\n"
            "budget: {steps: 3}\njobs: 1\noutput: elsewhere.h5\n");
  const SweepPlan plan = files.Read("base: {config: ./run.yaml, budget: {evaluations: 8}}\n");
  CHECK(plan.runs.size() == 2);
  CHECK(plan.configs[0].budget.steps == 3);
  CHECK(plan.configs[0].budget.evaluations == 8);
  CHECK(plan.configs[0].config.output == "");
  CHECK(files.Read("grid: {config: [./run.yaml], seeds: 0:2}\n").runs.size() == 2);
}

TEST_CASE("what is excluded") {
  const ConfigFiles files;
  const std::string grid = kBase + "grid: {graph: [g.json, h.json]}\n";
  CHECK(files.Read(grid + "exclude: [{graph: h.json, agent: dice}]\n").runs.size() == 7 + 4);
  CHECK(files.Read(grid + "exclude: [{agent: dice}, {seed: 1}]\n").runs.size() == 2 * 3);
  CHECK(Contains(files.Refusal(grid + "exclude: [{graph: x.json}]\n"),
                 "{graph: x.json} matches no run"));
  CHECK(Contains(files.Refusal(grid + "exclude: [{grph: g.json}]\n"), "did you mean \"graph\""));
  CHECK(Contains(files.Refusal(grid + "exclude: [{agent: hilclimb}]\n"),
                 "s.yaml:8:19: exclude.0.agent: unknown agent \"hilclimb\"; did you mean "
                 "\"hill_climb\"? choices: dice, heft, hill_climb"));
  CHECK(Contains(files.Refusal(grid + "exclude: [{semantics: queue}]\n"), "leaves 0 runs"));
  CHECK(Contains(files.Refusal(grid + "exclude: [{}]\n"), "expected at least one key"));
}

TEST_CASE("problems of a split") {
  const ConfigFiles files;
  const std::string text =
      kBase +
      "overrides:\n  - {split: seen graphs}\n  - {graph: h.json, split: unseen}\n"
      "  - {graph: h.json, semantics: stream}\n";
  const SweepPlan plan = files.Read(text);
  CHECK(plan.configs[0].config.split == "seen graphs");
  CHECK(Contains(plan.runs[0].description, "split=seen graphs"));
  CHECK(Contains(plan.configs[1].ResolvedYaml(), "split: unseen"));
  CHECK_FALSE(Contains(plan.configs[2].ResolvedYaml(), "split"));
  const SweepPlan unseen = files.Read(text, {"only=[{split: unseen}]"});
  REQUIRE(unseen.configs.size() == 1);
  CHECK(unseen.configs[0].config.split == "unseen");
  CHECK(Contains(files.Refusal(text, {"only=[{split: other}]"}), "{split: other} matches no run"));
}

TEST_CASE("only some runs") {
  const ConfigFiles files;
  const std::string grid = kBase + "grid: {graph: [g.json, h.json]}\n";
  const SweepPlan cell = files.Read(grid, {"only=[{graph: h.json}]"});
  CHECK(cell.runs.size() == 7);
  REQUIRE(cell.configs.size() == 1);  // what no run needs is not loaded
  CHECK(cell.configs[0].config.graph == "h.json");
  for (const SweepRun& run : cell.runs) CHECK(run.config == 0);
  CHECK(files.Read(grid + "only: [{graph: h.json, agent: dice}, {agent: heft}]\n").runs.size() ==
        3 + 2);
  CHECK(files.Read(grid + "only: [{graph: h.json}]\nexclude: [{agent: dice}]\n").runs.size() == 4);
  CHECK(Contains(files.Refusal(grid + "only: [{graph: x.json}]\n"),
                 "s.yaml:8:8: only.0: {graph: x.json} matches no run"));
  CHECK(
      Contains(files.Refusal(grid + "only: [{agent: hilclimb}]\n"), "did you mean \"hill_climb\""));
  CHECK(Contains(files.Refusal(grid + "only: [{grph: g.json}]\n"), "did you mean \"graph\""));
}

TEST_CASE("too many runs are counted, not expanded") {
  const ConfigFiles files;
  std::string values;
  for (int i = 1; i <= 200; ++i) values += fmt::format("{}{}", i > 1 ? ", " : "", i);
  // 200 x 200 evaluations and steps, 3 agents x 3 seeds: 360,000 runs.
  CHECK(Contains(files.Refusal(kBase + fmt::format("grid:\n  budget.evaluations: [{0}]\n"
                                                   "  budget.steps: [{0}]\n",
                                                   values)),
                 "s.yaml: describes 360000 runs (overrides: 1, budget.evaluations: 200, "
                 "budget.steps: 200, times agents and seeds); expected at most 100000"));
  // Ten million and far more.
  CHECK(
      Contains(files.Refusal(kBase + fmt::format("grid:\n  budget.evaluations: [{0}]\n"
                                                 "  budget.steps: [{0}]\n  budget.seconds: [{0}]\n"
                                                 "  steps_per_measurement: [{0}]\n"
                                                 "  agents.dice.batch: [{0}]\n",
                                                 values)),
               "describes more than "));
  CHECK(Contains(files.Refusal(kBase, {"base.seeds=0:50000"}), "describes 150000 runs"));
  CHECK(
      Contains(files.Refusal(kBase, {"base.seeds=0:10000000"}), "contains more than 100000 seeds"));
  // The second run config makes far more runs than the first, by which they are counted.
  WriteText(files.folder / "one.yaml", "graph: g.json\ncluster: c.yaml\nagents: [heft]\n");
  WriteText(files.folder / "lots.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [random, hill_climb]\nseeds: 0:60000\n");
  CHECK(Contains(files.Refusal("grid: {config: [./one.yaml, ./lots.yaml]}\n"),
                 "s.yaml: describes too many runs; expected at most 100000"));
}

TEST_CASE("mistakes name file, line and what was meant") {
  const ConfigFiles files;
  CHECK(Contains(files.Refusal("bas: {graph: g.json}\n"),
                 "s.yaml:1:1: unknown key \"bas\"; did you mean \"base\"?"));
  CHECK(Contains(files.Refusal(kBase + kBase),
                 "s.yaml:7:1: duplicate key \"base\", first in line 1"));
  CHECK(Contains(files.Refusal(kBase + "grid:\n  budget.steps: [1]\n  budget: {steps: [2]}\n"),
                 "s.yaml:9:19: grid.budget.steps: is twice in the grid"));
  CHECK(Contains(files.Refusal(kBase + "grid: {budget.steps: [1, two]}\n"),
                 "s.yaml:7:26: budget.steps: expected a whole number (64 bits), got \"two\""));
  CHECK(Contains(files.Refusal(kBase + "overrides:\n  - {semantcs: queue}\n"),
                 "s.yaml:8:16: unknown key \"semantcs\"; did you mean \"semantics\"?"));
  CHECK(Contains(files.Refusal(kBase + "  semantcs: queue\n"),
                 "s.yaml:7:13: unknown key \"semantcs\"; did you mean \"semantics\"?"));
  CHECK(Contains(files.Refusal(kBase + "grid: {budget.evaluatins: [1]}\n"),
                 "s.yaml:7:28: budget: unknown key \"evaluatins\"; did you mean \"evaluations\"?"));
  CHECK(Contains(files.Refusal(kBase + "overrides:\n  - {semantics: fast}\n"),
                 "s.yaml:8:17: semantics"));
  CHECK(Contains(files.Refusal(kBase + "grid: {semantics: []}\n"),
                 "s.yaml:7:19: grid.semantics: expected at least one value: a grid of 0 runs"));
  CHECK(Contains(files.Refusal(kBase + "grid: {semantics: queue}\n"), "expected a list of values"));
  CHECK(Contains(files.Refusal(kBase + "grid: {agents.hilclimb.batch: [1]}\n"),
                 "unknown agent \"hilclimb\"; did you mean \"hill_climb\"?"));
  CHECK(Contains(files.Refusal(kBase + "grid: {agents.hill_climb.bach: [1]}\n"),
                 "s.yaml:7:33: hill_climb: unknown key \"bach\"; did you mean \"batch\"?"));
  // A scale that is not chosen, too.
  CHECK(Contains(files.Refusal(kBase + "scales:\n  small: {budgt.steps: 1}\n"),
                 "s.yaml:8:24: unknown key \"budgt\"; did you mean \"budget\"?"));
  CHECK(Contains(files.Refusal(kBase + "scales:\n  small: {agents.dise.batch: 1}\n"),
                 "unknown agent \"dise\"; did you mean \"dice\"?"));
  CHECK(Contains(files.Refusal(kBase + "scales: {small: 7}\n"), "expected a map"));
  CHECK(Contains(
      files.Refusal(kBase + "scales: {small: {}}\n", {"scale=smal"}),
      "--set: scale: unknown scale \"smal\"; did you mean \"small\"? choices: small, full"));
  CHECK(Contains(files.Refusal(kBase, {"base.output=x.h5"}), "\"output\" is a key of the sweep"));
  CHECK(Contains(files.Refusal(kBase + "overrides: [7]\n"), "expected a map"));
  CHECK(Contains(files.Refusal("base: {graph: g.json, cluster: c.yaml}\n"),
                 "the required key \"agents\" is missing"));
  CHECK(Contains(files.Refusal("base: {graph: g.json, agents: [heft]}\n"),
                 "the required key \"cluster\" is missing"));
}

TEST_CASE("every committed sweep can be planned at every scale") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(SourceDir() / "configs/sweeps")) {
    CAPTURE(file.path());
    const SweepPlan full = ReadSweepPlan(file.path(), {}, AllAgents());
    for (const std::string& scale : full.config.scales.Keys()) {
      CAPTURE(scale);
      CHECK(!ReadSweepPlan(file.path(), {"scale=" + scale}, AllAgents()).runs.empty());
    }
    ++count;
  }
  CHECK(count >= 1);
}

TEST_CASE("the table's layout is checked and kept") {
  const ConfigFiles files;
  CHECK(files.Read(kBase).table == "");
  const SweepPlan plan = files.Read(kBase + "table: {title: T, columns: [{agent: heft}]}\n");
  CHECK(plan.table == "title: T\ncolumns:\n  - agent: heft\n");
  CHECK(plan.runs.size() == files.Read(kBase).runs.size());
  WriteText(files.folder / "layout.yaml", "title: U\n");
  CHECK(files.Read(kBase + "table: layout.yaml\n").table == "title: U\n");
  CHECK(Contains(files.Refusal(kBase + "table: {titel: T}\n"),
                 "s.yaml:7:9: table: unknown key \"titel\"; did you mean \"title\"?"));
  CHECK(Contains(files.Refusal(kBase, {"table=agnets"}), "did you mean \"agents\"?"));
}

}  // namespace
