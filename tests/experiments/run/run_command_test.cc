#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct RunFiles {
  TempDir folder;

  explicit RunFiles(const std::string& memory = "1GiB") {
    WriteText(folder / "g.json", LayeredJson(60));
    WriteText(folder / "c.yaml", ClusterYaml(memory));
    WriteText(folder / "small.yaml",
              "graph: g.json\ncluster: c.yaml\n"
              "agents: [single_gpu, single_cpu, heft, random, hill_climb]\n"
              "seeds: \"0:2\"\nbudget: {evaluations: 300, seconds: none}\n");
  }
  ProcessResult Run(std::vector<std::string> more, ProcessOptions options = {}) const {
    std::vector<std::string> arguments = {"run", "small.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

TEST_CASE("settings of an agent from the command line, by its label") {
  const RunFiles files;
  const ProcessResult result =
      files.Run({"--quiet", "--set", "agents.hill_climb.patience=7", "--set", "seeds=[3]"});
  REQUIRE(result.exit_code == 0);
  const ResultsReader reader(files.folder /
                             "results/small.agents.hill_climb.patience=7.seeds=3.h5");
  CHECK(reader.Text("/agents/hill_climb.seed3", "settings").find("patience: 7") !=
        std::string::npos);
  CheckRefused(files.Run({"--set", "agents.hill_clim.patience=7"}),
               2,
               {"--set: agents.hill_clim.patience: unknown agent \"hill_clim\"; did you mean "
                "\"hill_climb\"?"});
  // Three seeds of emplace.run() of the Python package, so that it is not one seed here.
  CheckRefused(
      files.Run({"--set", "seeds=3"}), 2, {"seeds: got 3; expected [3] for seed 3, or 0:N"});
}

const Json* FindAgent(const Json& table, const std::string& name) {
  for (const Json& row : table["agents"]) {
    if (row["agent"] == name) return &row;
  }
  return nullptr;
}

TEST_CASE("a policy learned in a run is saved, and a later run begins with it and its settings") {
  const RunFiles files;
  const std::string policy = "policies/placeto.seed1.policy";
  const ProcessResult learned =
      files.Run({"--quiet",
                 "--set",
                 "agents=[{name: placeto, start: [single_gpu], width: 8, rounds: 1}, hill_climb]",
                 "--set",
                 "seeds=[1]",
                 "--save-policy",
                 "policies"});
  CAPTURE(learned.err);
  REQUIRE(learned.exit_code == 0);
  const auto saved = std::filesystem::directory_iterator(files.folder / "policies");
  CHECK(std::distance(begin(saved), end(saved)) == 1);  // hill_climb learns none
  REQUIRE(std::filesystem::exists(files.folder / policy));
  const ProcessResult zero_shot =
      files.Run({"--quiet",
                 "--set",
                 "agents=[{name: placeto, policy: " + policy + ", updates: 0}]",
                 "--set",
                 "seeds=[1]",
                 "-o",
                 "again.h5"});
  CAPTURE(zero_shot.err);
  REQUIRE(zero_shot.exit_code == 0);
  const std::string settings =
      ResultsReader(files.folder / "again.h5").Text("/agents/placeto.seed1", "settings");
  CHECK(settings.find("single_gpu") != std::string::npos);
  CHECK(settings.find("width: 8") != std::string::npos);
  CheckRefused(
      files.Run({"--set", "agents=[hill_climb, learned_local_search]", "--save-policy", "none"}),
      2,
      {"--save-policy: no agent of the run learns a policy",
       "choices: graph_policy, placeto, seq2seq"});
  CHECK_FALSE(std::filesystem::exists(files.folder / "none"));
}

TEST_CASE("a run from files to a table, HDF5 and a placement that simulates to the same time") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--json"});
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  CHECK(table["graph"] == "small");
  REQUIRE(table["agents"].size() == 5);
  std::int64_t last = 0;
  for (const Json& row : table["agents"]) {
    const std::int64_t median = row["step_time_ns"]["median"];
    CHECK(median >= last);
    CHECK(median >= table["bound_ns"].get<std::int64_t>());
    CHECK(row["gap"].get<double>() ==
          doctest::Approx(static_cast<double>(median) / table["bound_ns"].get<double>() - 1));
    last = median;
  }
  const ResultsReader reader(files.folder / "results/small.h5");
  CHECK(table["bound_ns"] == reader.Int("/problem", "bound_ns"));
  CHECK(table["bound_method"] == reader.Text("/problem", "bound_method"));
  CHECK(table["optimal"] == (reader.Int("/problem", "optimal") != 0));
  CHECK(table["bound_ns"] >= reader.Int("/problem", "critical_path_ns"));
  CHECK(table["bound_ns"] >= reader.Int("/problem", "work_ns"));
  const Json& single = *FindAgent(table, "single_gpu");
  CHECK(single["speed_up"] == 1.0);
  CHECK(table["best_single_device"]["device"] == "gpu:0");
  CHECK(single["step_time_ns"]["median"] == table["best_single_device"]["step_time_ns"]);
  CHECK(reader.Text("/problem", "best_single_device") == "gpu:0");
  CHECK(table["best_single_device"]["step_time_ns"] ==
        reader.Int("/problem", "best_single_device_ns"));
  CHECK(single["runs"] == 1);  // without chance: once, whatever the seeds
  CHECK(FindAgent(table, "random")->at("runs") == 2);
  CHECK(FindAgent(table, "random")->at("evaluations") == 300);  // of a seed
  CHECK(FindAgent(table, "random")->at("total_evaluations") == 600);
  // Eleven steps a measurement, one evaluation.
  CHECK(single["hardware_seconds"].get<double>() ==
        doctest::Approx(11e-9 * table["best_single_device"]["step_time_ns"].get<double>()));
  CHECK(table["steps_per_measurement"] == 11);

  CHECK(Hdf5Text(files.folder / "results/small.h5", "/agents/hill_climb.seed1/best").size() > 0);
  CHECK(Hdf5Text(files.folder / "results/small.h5", "/agents/heft").size() > 0);
  const auto contains = [](const std::vector<std::string>& lines, const std::string& part) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  // The file says what it is, and an agent's settings with their defaults filled in.
  const auto all = Hdf5Text(files.folder / "results/small.h5", "/");
  CHECK(contains(all, "@format: emplace-results"));
  CHECK(contains(all, "patience: "));
  const ProcessResult simulated = RunEmplace({"simulate",
                                              "--graph",
                                              "g.json",
                                              "--cluster",
                                              "c.yaml",
                                              "--placement",
                                              "results/small.placement.json"},
                                             {.folder = files.folder.path()});
  REQUIRE(simulated.exit_code == 0);
  std::int64_t best = INT64_MAX;
  for (const Json& row : table["agents"]) {
    best = std::min(best, row["step_time_ns"]["min"].get<std::int64_t>());
  }
  CHECK(Json::parse(simulated.out)["step_time_ns"] == best);
}

TEST_CASE("zero-shot: the trained policy answers in the place of the config's agents") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--zero-shot", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  REQUIRE(table["agents"].size() == 1);
  const Json& row = table["agents"][0];
  CHECK(row["agent"] == "zero_shot");
  CHECK(row["runs"] == 1);
  CHECK(row["evaluations"].get<int>() < 1000);  // whatever the budget
  CHECK(row["step_time_ns"]["min"] <= table["best_single_device"]["step_time_ns"]);
  CHECK(files.Run({"--zero-shot", "--set", "budget.evaluations=10", "--json"}).exit_code == 0);
}

TEST_CASE("a budget that leaves a learner no time to learn warns") {
  const RunFiles files;
  const std::string small = "budget={evaluations: 2, seconds: none}";
  const auto run = [&](const std::string& agents, const std::string& budget) {
    return files.Run({"--set", "agents=" + agents, "--set", "seeds=[0, 1]", "--set", budget});
  };
  for (const std::string agent : {"seq2seq", "hierarchical", "post", "placeto"}) {
    // An episode of two parts is too short.
    const std::string entry = agent == "placeto" ? "{name: placeto, parts: 0}" : agent;
    const ProcessResult result = run("[random, " + entry + "]", small);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.err.find("emplace: warning: " + agent +
                          ": the budget (evaluations: 2) ended before the second update in 2 of 2 "
                          "searches, which therefore learned almost nothing\n") !=
          std::string::npos);
    CHECK(result.err.find("random: the budget") == std::string::npos);
  }
  const ProcessResult longer = run("[random, post]", "budget={steps: 30, seconds: none}");
  CHECK(longer.err.find("almost nothing") == std::string::npos);
  CHECK(longer.out.find("\nlearners post had ") != std::string::npos);
  CHECK(run("[random]", "budget={steps: 30, seconds: none}").out.find("learners") ==
        std::string::npos);
}

TEST_CASE("an issue order that a search has set is kept with its placement") {
  const RunFiles files;
  std::vector<std::string> how = {"--json", "-o", "r.h5"};
  for (const char* setting : {"graph=gpt2_mini_torch",
                              "cluster=2xk80",
                              "agents=[{name: order_search, start: [random]}]",
                              "semantics=stream",
                              "priority=searched",
                              "budget.evaluations=3000"}) {
    how.insert(how.end(), {"--set", setting});
  }
  const ProcessResult result = files.Run(how);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const ResultsReader reader(files.folder / "r.h5");
  const std::vector<std::string> labels = reader.Children("/agents");
  CHECK(std::ranges::any_of(labels, [&](const std::string& label) {
    return reader.Has("/agents/" + label + "/best/issue_order");
  }));
  const auto run = [&](const std::vector<std::string>& arguments) {
    const ProcessResult done = RunEmplace(arguments, {.folder = files.folder.path()});
    CAPTURE(done.err);
    REQUIRE(done.exit_code == 0);
    return done.out;
  };
  const Json best = Json::parse(result.out)["agents"][0]["step_time_ns"]["min"];
  const auto simulated = [&](const std::string& placement) {
    return Json::parse(run({"simulate",
                            "--graph",
                            "gpt2_mini_torch",
                            "--cluster",
                            "2xk80",
                            "--semantics",
                            "stream",
                            "--placement",
                            placement}))["step_time_ns"];
  };
  CHECK(simulated("r.placement.json") == best);
  run({"export", "r.h5", "--to", "json", "-o", "exported.json"});
  CHECK(simulated("exported.json") == best);
  run({"report", "r.h5", "--no-graph"});
  CHECK(ReadText(files.folder / "r.html").find("\"step_time_ns\":" + best.dump()) !=
        std::string::npos);
  // Resumed: nothing is left to do, and the placement is written anew.
  std::filesystem::remove(files.folder / "r.placement.json");
  std::vector<std::string> again = how;
  again.insert(again.end(), {"--resume", "--quiet"});
  REQUIRE(files.Run(again).exit_code == 0);
  CHECK(simulated("r.placement.json") == best);
}

TEST_CASE("what an order is searched for: ops simulated one by one; else no order is set") {
  const RunFiles files;
  const ProcessResult grouped = files.Run(
      {"--set", "semantics=stream", "--set", "priority=searched", "--set", "simulate_groups=true"});
  CHECK(grouped.exit_code == 2);
  CHECK(
      grouped.err.find("priority searched does not apply to simulate_groups: true, which replaces "
                       "the ops of the graph; choices: id, upward_rank") != std::string::npos);
  REQUIRE(files.Run({"--set", "agents=[order_search]", "--set", "semantics=stream", "-o", "id.h5"})
              .exit_code == 0);
  const ResultsReader reader(files.folder / "id.h5");
  for (const std::string& label : reader.Children("/agents")) {
    CHECK_FALSE(reader.Has("/agents/" + label + "/best/issue_order"));
  }
}

TEST_CASE("the same seeds give the same bytes, whatever the number of jobs and threads") {
  const RunFiles files;
  CHECK(files.Run({"-o", "one.h5", "--jobs", "1", "--quiet"}).exit_code == 0);
  CHECK(files.Run({"-o", "two.h5", "--jobs", "2", "--set", "threads=3", "--quiet"}).exit_code == 0);
  CHECK(files.Run({"-o", "other.h5", "--set", "seeds=[7, 8]", "--quiet"}).exit_code == 0);
  const auto one = Hdf5Text(files.folder / "one.h5", "/agents");
  const auto other = Hdf5Text(files.folder / "other.h5", "/agents");
  CHECK(one.size() > 50);
  CHECK(one == Hdf5Text(files.folder / "two.h5", "/agents"));
  CHECK(one != other);
  CHECK(Hdf5Text(files.folder / "one.h5", "/problem") ==
        Hdf5Text(files.folder / "two.h5", "/problem"));
  CHECK(ReadText(files.folder / "one.placement.json") ==
        ReadText(files.folder / "two.placement.json"));
}

TEST_CASE("people's table") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--quiet"});
  CHECK(result.exit_code == 0);
  CHECK(result.err == "");
  for (const char* part : {"graph    small: 60 ops, 60 groups",
                           "cluster  inline: cpu:0, gpu:0, gpu:1",
                           "queue semantics",
                           "bound    ",
                           "critical path",
                           ", gap ",
                           "agent",
                           "speed-up",
                           "gap",
                           "cpu:0 / gpu:0 / gpu:1",
                           "1.00x",
                           "measured 100.0 %",
                           "on hardware",
                           "\nrandom ",
                           "medians of 2 seeds; agents that do not use the seed run once\n",
                           // 300 placements of random and of hill_climb with each seed.
                           "total    1203 evaluations, ",
                           "on hardware, with 11 steps each: ",
                           "results/small.h5"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
  const ProcessResult loud = files.Run({"--force"});
  CHECK(loud.err.find("hill_climb.seed1") != std::string::npos);
}

TEST_CASE("people's table fits $COLUMNS, unless --wide is given") {
  const RunFiles files;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--quiet", "--set", "agents=[simulated_annealing, heft]"});
    const ProcessResult result = files.Run(more, {.environment = {{"COLUMNS", "80"}}});
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  std::istringstream lines(run({}));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 80);
  }
  const std::string narrow = run({"-o", "narrow.h5"});
  for (const char* head : {"agent ", "step time", "speed-up", "gap", "evaluations", "seconds\n"}) {
    CAPTURE(head);
    CHECK(narrow.find(head) != std::string::npos);
  }
  CHECK(narrow.find("--wide adds") != std::string::npos);
  CHECK(narrow.find(" / ") == std::string::npos);  // no peaks
  const std::string wide = run({"-o", "wide.h5", "--wide"});
  CHECK(wide.find("--wide adds") == std::string::npos);
  CHECK(wide.find(" on cpu:0 / gpu:0 / gpu:1 ") != std::string::npos);
  CHECK(wide.find("range over seeds") != std::string::npos);
}

TEST_CASE("the best row is bold on a terminal, and nowhere by NO_COLOR or TERM=dumb") {
  const RunFiles files;
  const auto bold = [&](std::map<std::string, std::string> environment) {
    environment.emplace("TERM", "xterm");
    const std::string command =
        (BinaryDir() / "emplace").string() + " run small.yaml --quiet --force --set agents=[heft]";
    const ProcessResult result =
        RunProcess({"/usr/bin/script", "--quiet", "--return", "--command", command, "/dev/null"},
                   {.folder = files.folder.path(), .environment = environment});
    CAPTURE(result.out);
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("heft ") != std::string::npos);
    return result.out.find("\x1b[1mheft ") != std::string::npos;
  };
  CHECK(bold({}));
  CHECK(bold({{"NO_COLOR", ""}}));
  CHECK_FALSE(bold({{"NO_COLOR", "1"}}));
  CHECK_FALSE(bold({{"TERM", "dumb"}}));
  CHECK(files.Run({"--quiet"}, {.environment = {{"TERM", "xterm"}}}).out.find('\x1b') ==
        std::string::npos);  // not a terminal
}

TEST_CASE("a dry run checks everything, prints the searches and writes nothing") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--dry-run", "--set", "budget.steps=7"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  for (const char* part : {"graph    small: 60 ops, 60 groups\n",
                           "bound    ",
                           "\n#0 single_gpu\n",
                           "\n#3 random.seed0\n#4 random.seed1\n",
                           "\nsearches 7, ",
                           "each with a budget of 300 evaluations or 7 steps\n",
                           "results  results/small.budget.steps=7.h5\n"}) {
    CAPTURE(part);
    CHECK(result.out.find(part) != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(files.folder / "results"));
  CHECK(files.Run({"--dry-run", "-o", "out.h5"}).out.find("results  out.h5\n") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(files.folder / "out.h5"));
  // Settings are the agents' own to check.
  CheckRefused(files.Run({"--dry-run", "--set", "agents=[{name: hill_climb, patience: -1}]"}),
               2,
               {"patience"});
}

TEST_CASE("a printed config has every key and makes the same run") {
  const RunFiles files;
  const std::vector<std::string> settings = {
      "--set", "agents=[{name: simulated_annealing, label: \"1\", chains: 2}, heft]"};
  const auto run = [&](const std::string& config, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", config, "--quiet"});
    const ProcessResult result = RunEmplace(more, {.folder = files.folder.path()});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  std::vector<std::string> print = settings;
  print.emplace_back("--print-config");
  const std::string config = run("small.yaml", print);
  for (const char* part : {"\npriority: id\n",
                           "\nbudget:\n  evaluations: 300\n  seconds: none\n  steps: none\n",
                           "label: \"1\"\n",
                           "chains: 2\n",
                           "rounds: 64\n",
                           "\nseeds: \"0:2\"\n",
                           "\noutput: \"\"\n"}) {
    CAPTURE(config);
    CAPTURE(part);
    CHECK(config.find(part) != std::string::npos);
  }
  CHECK(config.find((files.folder / "g.json").string()) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(files.folder / "results"));
  std::filesystem::create_directories(files.folder / "elsewhere");
  WriteText(files.folder / "elsewhere/full.yaml", config);
  CHECK(run("elsewhere/full.yaml", {"--print-config"}) == config);
  std::vector<std::string> there = settings;
  there.insert(there.end(), {"-o", "one.h5"});
  run("small.yaml", there);
  run("elsewhere/full.yaml", {"-o", "two.h5"});
  CHECK(ReadText(files.folder / "one.placement.json") ==
        ReadText(files.folder / "two.placement.json"));
  const ResultsReader one(files.folder / "one.h5"), two(files.folder / "two.h5");
  for (const std::string& label : one.Children("/agents")) {
    CHECK(one.Text("/agents/" + label, "settings") == two.Text("/agents/" + label, "settings"));
  }
}

TEST_CASE("what does not fit is shown with the bytes that are missing") {
  const RunFiles files("10kB");
  const ProcessResult result = files.Run({"--set", "agents=[single_gpu, single_cpu]"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("OOM (missing ") != std::string::npos);
  CHECK(result.out.find("on gpu:0)") != std::string::npos);
  CHECK(result.out.find("\nsingle_gpu        OOM ") != std::string::npos);
  CHECK(result.out.find("\nsingle_gpu: OOM (missing ") != std::string::npos);
  const Json table =
      Json::parse(files.Run({"--set", "agents=[single_gpu, single_cpu]", "--json", "--force"}).out);
  CHECK(table["best_single_device"]["device"] == "cpu:0");  // 8 GiB
  CHECK(FindAgent(table, "single_cpu")->at("speed_up") == 1.0);
  CHECK(FindAgent(table, "single_gpu")->at("step_time_ns")["median"].is_null());
  CHECK(table["agents"][0]["agent"] == "single_cpu");
}

TEST_CASE("the speed-up is over the best single device, not over the first GPU") {
  const RunFiles files;
  WriteText(files.folder / "mixed.yaml",
            "name: mixed\ndevices:\n"
            "  - {name: \"cpu:0\", kind: haswell_18c, memory: 64GiB}\n"
            "  - {name: \"gpu:0\", kind: k40, memory: 11GiB}\n"
            "  - {name: \"gpu:1\", kind: k40, memory: 11GiB}\n"
            "  - {name: \"gpu:2\", kind: a100, memory: 40GiB}\n"
            "all_to_all: {latency: 25us, bandwidth: 6GB/s, gap: 0us}\n");
  std::vector<std::string> how = {
      "--set", "graph=gpt2_mini_torch", "--set", "cluster=./mixed.yaml"};
  how.insert(how.end(),
             {"--set",
              "agents=[single_gpu, {name: single_device, label: a100, device: \"gpu:2\"}]",
              "--json",
              "-o",
              "mixed.h5"});
  const ProcessResult result = files.Run(how);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  const Json& a100 = *FindAgent(table, "a100");
  CHECK(a100["speed_up"] == 1.0);
  CHECK(FindAgent(table, "single_gpu")->at("speed_up") < 1.0);
  CHECK(table["best_single_device"]["device"] == "gpu:2");
  CHECK(table["best_single_device"]["step_time_ns"] == a100["step_time_ns"]["median"]);
  CHECK(result.err.find(" on gpu:2, the best single device that fits\n") != std::string::npos);
}

TEST_CASE("machines of CPUs alone have speed-ups") {
  const RunFiles files;
  WriteText(files.folder / "cpus.yaml",
            "name: cpus\ndevice_kinds: {c: {class: cpu}}\ndevices:\n"
            "  - {name: \"cpu:0\", kind: c, memory: 8GiB}\n"
            "  - {name: \"cpu:1\", kind: c, memory: 8GiB}\n"
            "all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 0us}\n");
  const ProcessResult result =
      files.Run({"--set", "cluster=./cpus.yaml", "--set", "agents=[single_cpu, heft]", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = Json::parse(result.out);
  CHECK(table["best_single_device"]["device"] == "cpu:0");
  CHECK(FindAgent(table, "single_cpu")->at("speed_up") == 1.0);
}

TEST_CASE(
    "a run with simulate_groups says that it is an approximation and what the placement really "
    "takes") {
  const RunFiles files;
  const ProcessResult result =
      files.Run({"--set", "simulate_groups=true", "--set", "coarsen=[single_consumer]"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("groups contracted (an approximation)") != std::string::npos);
  CHECK(result.out.find("for the same placement, simulated op by op") != std::string::npos);
}

TEST_CASE("stream semantics and the period") {
  const RunFiles files;
  CHECK(files.Run({"--set", "semantics=stream"}).exit_code == 0);
  const ProcessResult period = files.Run({"--set", "objective=period", "--json"});
  CHECK(period.exit_code == 0);
  const Json table = Json::parse(period.out);
  for (const Json& row : table["agents"]) {
    CHECK(row["step_time_ns"]["median"].get<std::int64_t>() >=
          table["bound_ns"].get<std::int64_t>());
  }
}

TEST_CASE("ctrl-C ends the search, keeps what was found and fails the run") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--set",
                                          "agents=[heft, random]",
                                          "--set",
                                          "seeds=[0]",
                                          "--set",
                                          "budget={evaluations: none, seconds: 1000}",
                                          "--jobs",
                                          "1",
                                          "-o",
                                          "cut.h5"},
                                         {.interrupt_when = "#0 heft",
                                          .interrupt_delay_ms = 300,  // the other has begun
                                          .timeout_seconds = 60});
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("emplace: stopped: 1 of 2 searches were interrupted") != std::string::npos);
  CHECK(result.out.find("heft") != std::string::npos);
  bool found = false;
  for (const std::string& line : Hdf5Text(files.folder / "cut.h5", "/agents")) {
    found = found || line == "@status: stopped ";
  }
  CHECK(found);
}

TEST_CASE("a search that ctrl-C came before is neither done nor one that does not fit") {
  const RunFiles files;
  const std::vector<std::string> how = {"--set",
                                        "agents=[random]",
                                        "--set",
                                        "budget={evaluations: none, seconds: 1000}",
                                        "--jobs",
                                        "1",
                                        "--json",  // the header on stderr
                                        "-o",
                                        "cut.h5"};
  const ProcessResult result =
      files.Run(how, {.interrupt_when = "best single device", .interrupt_delay_ms = 300});
  CHECK(result.exit_code == 1);
  CAPTURE(result.err);
  CHECK(result.err.find("searching: 0/2 (0 %)") != std::string::npos);
  CHECK(result.err.find("/2 (100 %)") == std::string::npos);
  CHECK(result.err.find("stopped: 1 of 2 searches were interrupted, 1 did not start; their results "
                        "are in cut.h5") != std::string::npos);
  const Json row = Json::parse(result.out)["agents"][0];
  CHECK(row["runs"] == 1);
  CHECK(row["fitting"] == 1);
  CHECK(row["not_begun"] == 1);
  const ResultsReader reader(files.folder / "cut.h5");
  CHECK(reader.Children("/agents") == std::vector<std::string>{"random.seed0"});
}

TEST_CASE("results are not written over unasked, and are named by what was set") {
  const RunFiles files;
  REQUIRE(files.Run({"--set", "agents=[heft]", "--quiet"}).exit_code == 0);
  REQUIRE(files.Run({"--set", "agents=[random, heft]", "--quiet"}).exit_code == 0);
  REQUIRE(files
              .Run({"--set",
                    "agents=[heft]",
                    "--set",
                    "cluster=2xk80",
                    "--set",
                    "graph=gpt2_mini_torch",
                    "--quiet"})
              .exit_code == 0);
  for (const char* name : {"small.agents=heft",
                           "small.agents=random,heft",
                           "small.agents=heft.cluster=2xk80.graph=gpt2_mini_torch"}) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(files.folder / "results" / (name + std::string(".h5"))));
    CHECK(std::filesystem::exists(files.folder / "results" /
                                  (name + std::string(".placement.json"))));
  }

  REQUIRE(files.Run({"-o", "r.h5", "--set", "agents=[heft]", "--quiet"}).exit_code == 0);
  const std::string before = ReadText(files.folder / "r.h5");
  CheckRefused(files.Run({"-o", "r.h5", "--quiet"}),
               2,
               {"r.h5: holds run small of 2",
                ": small on inline, 1 search; --force overwrites it, --resume continues it, "
                "-o names another file"});
  CHECK(ReadText(files.folder / "r.h5") == before);
  CHECK(files.Run({"-o", "r.h5", "--quiet", "--force"}).exit_code == 0);
  CHECK(ResultsReader(files.folder / "r.h5").Children("/agents").size() == 7);
}

TEST_CASE("ctrl-C ends the one step of a construction on a large graph" *
          doctest::skip(kUnderSanitizers)) {
  const RunFiles files;
  WriteText(files.folder / "large.json", LayeredJson(300'000));
  for (const std::string agent : {"heft", "etf"}) {
    CAPTURE(agent);
    const std::string agents =
        fmt::format("agents=[{{label: one, name: {0}}}, {{label: two, name: {0}}}]", agent);
    const ProcessResult result = files.Run(
        {"--set",
         "graph=./large.json",
         "--set",
         agents,
         "--jobs",
         "1",
         "--json",
         "-o",
         agent + ".h5"},
        {.interrupt_when = "best single device", .interrupt_delay_ms = 50});  // --json: on stderr
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("emplace: stopped: 1 of 2 searches were interrupted, 1 did not start") !=
          std::string::npos);
    CHECK(result.seconds_interrupted > 0);
    CHECK(result.seconds_interrupted < 2);
    const std::vector<std::string> texts = Hdf5Text(files.folder / (agent + ".h5"), "/agents/one");
    CHECK(std::count(texts.begin(), texts.end(), "@status: stopped ") == 1);
  }
}

TEST_CASE("what leaves nothing to choose, or fits nowhere, ends and says so") {
  const auto write = [](const RunFiles& files, const std::string& agents) {
    WriteText(files.folder / "small.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: " + agents +
                  "\nbudget: {evaluations: 300, seconds: none}\n");
  };
  SUBCASE("one device") {
    const RunFiles files;
    write(files,
          "[single_gpu, heft, random, hill_climb, simulated_annealing, seq2seq, hierarchical]");
    WriteText(files.folder / "c.yaml",
              "name: one\ndevice_kinds: {g: {class: gpu}}\n"
              "devices: [{name: \"gpu:0\", kind: g, memory: 1GiB}]\n");
    const Json table = Json::parse(files.Run({"--json"}).out);
    for (const Json& row : table["agents"]) {
      CHECK(row["step_time_ns"]["median"] == table["best_single_device"]["step_time_ns"]);
    }
  }
  SUBCASE("one op") {
    const RunFiles files;
    write(files,
          "[single_gpu, heft, random, hill_climb, simulated_annealing, seq2seq, hierarchical]");
    WriteText(files.folder / "g.json", LayeredJson(1));
    const Json table = Json::parse(files.Run({"--json"}).out);
    for (const Json& row : table["agents"]) {
      CHECK(row["step_time_ns"]["median"] == table["best_single_device"]["step_time_ns"]);
    }
  }
  SUBCASE("every placement infeasible") {
    const RunFiles files;
    write(files, "[heft, random, hill_climb, simulated_annealing, seq2seq, hierarchical]");
    std::string cluster = ClusterYaml("1kB");
    const size_t at = cluster.find("8GiB");
    WriteText(files.folder / "c.yaml", cluster.replace(at, 4, "1kB"));
    const ProcessResult result = files.Run({});
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("best     OOM (missing ") != std::string::npos);
    CHECK(result.out.find("single   the model does not fit on a single device\n") !=
          std::string::npos);
    CHECK_FALSE(ResultsReader(files.folder / "results/small.h5")
                    .HasAttribute("/problem", "best_single_device"));
    CHECK(result.out.find("on hardware, with 11 steps each: 0.0 s") != std::string::npos);
    const Json table = Json::parse(files.Run({"--json", "--force"}).out);
    CHECK(table["best_single_device"].is_null());
    REQUIRE(table["agents"].size() == 6);
    for (const Json& row : table["agents"]) {
      CAPTURE(row.dump());
      for (const char* key : {"median", "min", "max"}) CHECK(row["step_time_ns"][key].is_null());
      CHECK(row["speed_up"].is_null());
      CHECK(row["gap"].is_null());
      CHECK(row["fitting"] == 0);
      CHECK(row["deficit_bytes"]["gpu:0"].is_number());
    }
  }
}

TEST_CASE("every key of the config is explained") {
  const ProcessResult result = RunEmplace({"run", "--help-config"});
  CHECK(result.exit_code == 0);
  for (const char* key : {"graph:",
                          "budget.seconds: 30",
                          "coarsen:\n  - colocate",
                          "seeds:",
                          "jobs: 0",
                          "threads: 0",
                          "steps_per_measurement: 11"}) {
    CAPTURE(key);
    CHECK(result.out.find(key) != std::string::npos);
  }
}

TEST_CASE("a run by upward rank says so, and its placement brings the order along") {
  const RunFiles files;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(),
                {"--set", "semantics=stream", "--set", "agents=[hill_climb]", "--json"});
    const ProcessResult result = files.Run(more);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out);
  };
  const auto simulate = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"simulate",
                                          "--graph",
                                          "g.json",
                                          "--cluster",
                                          "c.yaml",
                                          "--semantics",
                                          "stream",
                                          "--placement",
                                          name + ".placement.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(RunEmplace(arguments, {.folder = files.folder.path()}).out)["step_time_ns"];
  };
  const auto least = [](const Json& table) {
    return table["agents"][0]["step_time_ns"]["min"].get<std::int64_t>();
  };
  const Json table = run({"-o", "rank.h5", "--set", "priority=upward_rank"});
  CHECK(table["priority"] == "upward_rank");
  CHECK(simulate("rank", {}) == least(table));
  CHECK(simulate("rank", {"--priority", "given"}) == least(table));
  CHECK(simulate("rank", {"--priority", "upward_rank"}) == least(table));
  CHECK(Json::parse(ReadText(files.folder / "rank.placement.json"))["issue_order"].size() == 60);
  const auto problem = Hdf5Text(files.folder / "rank.h5", "/problem");
  CHECK(std::ranges::any_of(problem, [](const std::string& line) {
    return line.find("priority: upward_rank") != std::string::npos;
  }));
  CHECK(files.Run({"--set", "semantics=stream", "--set", "priority=upward_rank", "-o", "text.h5"})
            .out.find("model    stream semantics with priority upward_rank, step time\n") !=
        std::string::npos);

  // Another run takes the order of the file over, and finds the same.
  const Json again = run(
      {"-o", "given.h5", "--set", "priority=given", "--set", "issue_order=rank.placement.json"});
  CHECK(again["priority"] == "given");
  CHECK(least(again) == least(table));

  // By id nothing is added. Contracted graphs are ordered by their own ranks.
  CHECK(run({"-o", "id.h5"})["priority"] == "id");
  CHECK_FALSE(Json::parse(ReadText(files.folder / "id.placement.json")).contains("issue_order"));
  for (const std::string& line : Hdf5Text(files.folder / "id.h5", "/problem")) {
    CHECK(line.find("priority") == std::string::npos);
    CHECK(line.find("issue_order") == std::string::npos);
  }
  run({"-o",
       "small.h5",
       "--set",
       "priority=upward_rank",
       "--set",
       "simulate_groups=true",
       "--set",
       "coarsen=[single_consumer]"});
  CHECK(Json::parse(ReadText(files.folder / "small.placement.json"))["issue_order"].size() == 60);
}

}  // namespace
