#include <algorithm>
#include <filesystem>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/run_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

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

}  // namespace
