#include "experiments/simulate/simulate_question.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/registry.h"
#include "experiments/console/output.h"
#include "framework/base/json.h"
#include "framework/cost/cost_table.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A run whose placement is simulated again.
struct SimulatedRun {
  TempDir folder;
  Json table;         // of `emplace run --json`
  std::int64_t best;  // step time

  explicit SimulatedRun(const std::vector<std::string>& settings) {
    WriteText(folder / "g.json", LayeredJson(40));
    WriteText(folder / "bare.json", BareJson());
    WriteText(folder / "costs.json", FormatCostTable(BareCosts()));
    WriteText(folder / "c.yaml",
              "name: inline\n"
              "device_kinds:\n"
              "  c: {class: cpu, gap: 1us, peak: {f32: 1TFLOP/s}, memory_bandwidth: 1GB/s}\n"
              "  g:\n"
              "    class: gpu\n"
              "    gap: 2us\n"
              "    peak: {f32: 9TFLOP/s}\n"
              "    memory_bandwidth: 9GB/s\n"
              "    interference: {unknown: {sensitivity: 1, pressure: 1}}\n"
              "devices:\n"
              "  - {name: \"cpu:0\", kind: c, memory: 8GiB}\n"
              "  - {name: \"gpu:0\", kind: g, memory: 1GiB}\n"
              "  - {name: \"gpu:1\", kind: g, memory: 1GiB}\n"
              "shares: [\"gpu:*\"]\n"
              "all_to_all: {latency: 5us, bandwidth: 1GB/s, gap: 1us}\n");
    WriteText(folder / "run.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: [heft, random]\n"
              "seeds: [3]\nbudget: {evaluations: 200, seconds: none}\n");
    std::vector<std::string> arguments = {"run", "run.yaml", "-o", "r.h5", "--json", "--quiet"};
    for (const std::string& setting : settings)
      arguments.insert(arguments.end(), {"--set", setting});
    const ProcessResult run = Run(arguments);
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    table = Json::parse(run.out);
    best = INT64_MAX;
    for (const Json& row : table["agents"]) {
      best = std::min(best, row["step_time_ns"]["min"].get<std::int64_t>());
    }
  }
  // A chain of 40 ops without costs of their own.
  static std::string BareJson() {
    Json graph = Json::parse(LayeredJson(40));
    for (Json& op : graph["ops"]) op.erase("cost_ns");
    for (Json& tensor : graph["tensors"]) tensor["bytes"] = 1000;
    return graph.dump();
  }
  // Measured costs of them.
  static CostTable BareCosts() {
    CostTable costs;
    costs.machine = "invented";
    for (const char* name : {"g", "c"}) {
      KindCosts kind;
      kind.kind = {.name = name,
                   .device_class = *name == 'g' ? DeviceClass::kGpu : DeviceClass::kCpu};
      const double nanos = *name == 'g' ? 20000 : 50000;
      for (const char* signature :
           {"k() -> ?[1000B] {} 0 FLOP, 1000 B", "k(?[1000B]) -> ?[1000B] {} 0 FLOP, 2000 B"}) {
        OpMeasurement measured{.signature = signature, .kind = "k"};
        measured.isolated = Timing{nanos, nanos, nanos, 10};
        kind.ops.push_back(std::move(measured));
      }
      costs.kinds.push_back(std::move(kind));
    }
    return costs;
  }
  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  ProcessResult Simulate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "simulate");
    return Run(arguments);
  }
  ProcessResult SimulatePlacement(std::vector<std::string> more, bool bare = false) const {
    more.insert(more.begin(), {"--graph", bare ? "bare.json" : "g.json", "--cluster", "c.yaml"});
    more.insert(more.begin(), {"--placement", "r.placement.json"});
    return Simulate(more);
  }
};

TEST_CASE(
    "the best placement of a run is simulated as in the run, from results and from its file") {
  const std::vector<std::vector<std::string>> runs = {
      {"semantics=queue"},
      {"semantics=queue", "count_gaps=true"},
      {"semantics=stream", "priority=upward_rank"},
      {"semantics=stream", "priority=searched", "agents=[order_search]"},
      {"semantics=interference", "priority=upward_rank"},
      {"semantics=stream",
       "priority=upward_rank",
       "simulate_groups=true",
       "coarsen=[single_consumer: {max_share: 0.3}]"},
      {"objective=period"},
      {"semantics=stream", "graph=bare.json", "costs=./costs.json"}};
  for (const std::vector<std::string>& settings : runs) {
    CAPTURE(fmt::format("{}", fmt::join(settings, " ")));
    const bool bare = settings.back() == "costs=./costs.json";
    const SimulatedRun run(settings);
    for (const bool results : {true, false}) {
      const ProcessResult again =
          results ? run.Simulate({"r.h5"}) : run.SimulatePlacement({}, bare);
      CHECK(again.err == "");
      REQUIRE(again.exit_code == 0);
      const Json json = Json::parse(again.out);
      CHECK(json["step_time_ns"] == run.best);
      CHECK(json["simulated"]["semantics"] == run.table["semantics"]);
      CHECK(json["simulated"]["priority"] == run.table["priority"]);
      CHECK(json["simulated"]["objective"] == run.table["objective"]);
      CHECK(json["simulated"]["contracted"].is_null() == !run.table["simulate_groups"].get<bool>());
      CHECK((json["simulated"]["costs"] == "none") == !bare);
      CHECK(json["bound_ns"] <= run.best);
      if (results) {  // the bound of the run, under its name
        CHECK(json["bound_ns"] == run.table["bound_ns"]);
        CHECK(json["bound_method"] == run.table["bound_method"]);
      }
    }
  }
}

TEST_CASE("a warning names each option that differs from the run's") {
  const SimulatedRun run({"semantics=stream", "priority=upward_rank"});
  const auto warned =
      [&](const ProcessResult& result, const std::string& was, const std::string& is) {
        CAPTURE(result.err);
        REQUIRE(result.exit_code == 0);
        const std::string time = FormatTime(Json::parse(result.out)["step_time_ns"].get<Nanos>());
        CHECK(result.err == fmt::format("emplace: warning: {} ({}); this is with {} ({})\n",
                                        was,
                                        FormatTime(run.best),
                                        is,
                                        time));
      };
  for (const std::string file : {"r.h5", "r.placement.json"}) {
    const auto simulate = [&](std::vector<std::string> more) {
      if (file != "r.h5") return run.SimulatePlacement(more);
      more.insert(more.begin(), file);
      return run.Simulate(more);
    };
    warned(simulate({"--semantics", "queue"}),
           file + ": was simulated with semantics stream, priority upward_rank",
           "semantics queue, priority id");
    warned(simulate({"--priority", "id", "--count-gaps"}),
           file + ": was simulated with priority upward_rank, count_gaps false",
           "priority id, count_gaps true");
    warned(simulate({"--objective", "period"}),
           file + ": was simulated with objective step_time",
           "objective period");
    for (const char* priority : {"given", "upward_rank"}) {
      const ProcessResult same = simulate({"--priority", priority});
      CHECK(same.err == "");
      CHECK(Json::parse(same.out)["step_time_ns"] == run.best);
    }
  }
  // Of another question no bound of the run is known.
  const Json queue = Json::parse(run.Simulate({"r.h5", "--semantics", "queue"}).out);
  CHECK(queue["bound_ns"] == std::max(queue["critical_path_ns"], queue["work_ns"]));

  const ProcessResult random = run.Simulate({"r.h5", "--agent", "random"});
  CHECK(random.err == "");
  CHECK(Json::parse(random.out)["simulated"]["placement"].get<std::string>().starts_with(
      "random.seed3"));
  CheckRefused(run.Simulate({"r.h5", "--agent", "randm"}),
               2,
               {"r.h5: --agent: unknown agent \"randm\"; choices: heft, random.seed3"});
  CheckRefused(
      run.SimulatePlacement({"--agent", "heft"}),
      2,
      {"r.placement.json: --agent heft does not apply here; it chooses among the placements of "
       "results"});
  CheckRefused(run.Simulate({"r.h5", "--objective", "period", "--trace", "t.json"}),
               2,
               {"--trace: a period of pipelined steps has no timeline"});
  CheckRefused(run.Simulate({}), 2, {"results or --placement is required"});
  CheckRefused(run.Simulate({"r.placement.json"}), 2, {"--graph is required"});
  CheckRefused(run.Simulate({"r.h5", "--placement", "r.placement.json"}),
               2,
               {"r.h5: --placement r.placement.json names a second placement"});
}

TEST_CASE("a constructive agent by its name: the step time of a run with this agent") {
  const std::vector<std::string> settings[] = {
      {"semantics=queue"},
      {"semantics=queue", "count_gaps=true"},
      {"semantics=stream", "priority=upward_rank"},
      {"semantics=interference"},
      {"objective=period"},
      {"semantics=stream", "graph=bare.json", "costs=./costs.json"}};
  for (const std::vector<std::string>& setting : settings) {
    CAPTURE(fmt::format("{}", fmt::join(setting, " ")));
    std::vector<std::string> options;
    bool period = false, bare = false;
    for (const std::string& text : setting) {
      const std::string key = text.substr(0, text.find('=')), value = text.substr(key.size() + 1);
      period = period || key == "objective";
      bare = bare || key == "graph";
      if (key == "count_gaps") options.emplace_back("--count-gaps");
      if (key != "count_gaps" && key != "graph") {
        options.insert(options.end(), {"--" + key, value});
      }
    }
    std::string agents = "{name: expert, rules: [{match: \"*\", device: \"gpu:1\"}]}";
    for (const AgentEntry& entry : AllAgents().entries()) {
      const bool applies = !entry.objective || (*entry.objective == Objective::kPeriod) == period;
      if (entry.constructs && applies && entry.name != "expert") agents += ", " + entry.name;
    }
    std::vector<std::string> all = setting;
    all.push_back("agents=[" + agents + "]");
    const SimulatedRun run(all);
    CHECK(run.table["agents"].size() >= 13);
    for (const Json& row : run.table["agents"]) {
      const auto agent = row["agent"].get<std::string>();
      CAPTURE(agent);
      std::vector<std::string> arguments = {
          "--placement", agent, "--graph", bare ? "bare.json" : "g.json", "--cluster", "c.yaml"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      const ProcessResult result = run.Simulate(arguments);
      if (agent == "expert") {
        CheckRefused(result, 2, {"--placement", "expected a list of rules"});
        continue;
      }
      CHECK(result.err == "");
      REQUIRE(result.exit_code == 0);
      const Json json = Json::parse(result.out);
      CHECK(json["step_time_ns"] == row["step_time_ns"]["median"]);
      CHECK(json["simulated"]["placement"] == agent);
      CHECK(json["simulated"]["semantics"] == run.table["semantics"]);
      CHECK(json["simulated"]["priority"] == run.table["priority"]);
    }
  }
}

TEST_CASE("--placement: a file comes before an agent; other names are refused") {
  const SimulatedRun run({"semantics=queue"});
  const auto simulate = [&](const std::string& placement, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"--placement", placement, "--graph", "g.json", "--cluster", "c.yaml"});
    return run.Simulate(more);
  };
  CheckRefused(simulate("hefft"),
               2,
               {"--placement: no such file: unknown constructive agent \"hefft\"; did you mean "
                "\"heft\"? choices: contiguous, cpop, etf, expert, heft, "});
  CheckRefused(simulate("random"), 2, {"unknown constructive agent \"random\"", "single_gpu"});
  CheckRefused(simulate("hetf.json"), 2, {"hetf.json: "});
  CheckRefused(simulate("./heft"), 2, {"./heft: "});
  CheckRefused(simulate("max_load_dp"), 2, {"the agent searches for the period only"});
  CheckRefused(simulate("heft", {"--semantics", "stream", "--priority", "given"}),
               2,
               {"heft: has no issue_order, which --priority given asks for"});
  CheckRefused(simulate("heft", {"--agent", "heft"}), 2, {"heft: --agent heft does not apply"});
  CheckRefused(
      run.Simulate({"--placement", "heft", "--cluster", "c.yaml"}), 2, {"--graph is required"});
  CheckRefused(run.Simulate({"--placement", "heft", "--graph", "no", "--cluster", "c.yaml"}),
               2,
               {"--graph: unknown graph \"no\""});

  std::filesystem::create_directory(run.folder / "heft");  // a folder is not a placement file
  const ProcessResult heft = simulate("heft");
  REQUIRE(heft.exit_code == 0);
  std::filesystem::remove(run.folder / "heft");
  std::string all_on_one;
  for (int v = 0; v < 40; ++v) {
    all_on_one += fmt::format("{}\"op{}\": \"gpu:1\"", v > 0 ? ", " : "", v);
  }
  WriteText(run.folder / "heft", PlacementJson(all_on_one));
  const ProcessResult file = simulate("heft");
  REQUIRE(file.exit_code == 0);
  CHECK(Json::parse(file.out)["channels"]["gpu:0->gpu:1"]["transfers"] == 0);
  CHECK(Json::parse(file.out)["step_time_ns"] > Json::parse(heft.out)["step_time_ns"]);
}

TEST_CASE("contracted groups, or every op by itself") {
  const SimulatedRun run(
      {"simulate_groups=true", "coarsen=[single_consumer: {max_share: 0.3}]", "agents=[random]"});
  const ProcessResult result = run.Simulate({"r.h5", "--op-by-op"});
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.find("was simulated with groups contracted") != std::string::npos);
  CHECK(run.Simulate({"r.h5", "--trace", "t.json"}).exit_code == 0);
  CheckRefused(run.Simulate({"r.h5", "--semantics", "stream", "--priority", "given"}),
               2,
               {"--priority given needs --op-by-op"});
}

TEST_CASE("a cost file of the run that does not exist any more is named") {
  const SimulatedRun run({"semantics=stream", "graph=bare.json", "costs=./costs.json"});
  const auto move = [&](const char* from, const char* to) {
    std::filesystem::rename(run.folder / from, run.folder / to);
  };
  move("costs.json", "moved.json");
  CheckRefused(run.SimulatePlacement({}, true),
               2,
               {"r.placement.json: was simulated with the costs",
                "costs.json, whose file does not exist any more; name it with --costs"});
  CheckRefused(
      run.Simulate({"r.h5"}), 2, {"r.h5: its cost table", "costs.json does not exist any more"});
  for (const bool results : {true, false}) {
    const auto simulate = [&](const std::string& costs) {
      return results ? run.Simulate({"r.h5", "--costs", costs})
                     : run.SimulatePlacement({"--costs", costs}, true);
    };
    const ProcessResult same = simulate("./moved.json");
    CHECK(same.err == "");
    CHECK(Json::parse(same.out)["step_time_ns"] == run.best);
    const ProcessResult none = simulate("none");
    CAPTURE(none.err);
    CHECK(none.exit_code == 0);
    CHECK(none.err.find("was simulated with costs /") != std::string::npos);
    CHECK(none.err.find("this is with costs none") != std::string::npos);
  }
}

TEST_CASE("a graph that has changed since the run is named") {
  const SimulatedRun run({"semantics=stream"});
  std::string graph = ReadText(run.folder / "g.json");
  size_t at = 0;
  while ((at = graph.find("\"g\": ", at)) != std::string::npos) graph.insert(at += 5, "1");
  WriteText(run.folder / "g.json", graph);
  CheckRefused(
      run.Simulate({"r.h5"}), 2, {"r.h5: was made with another version of the costs; name"});
  const ProcessResult named = run.Simulate({"r.h5", "--graph", "g.json"});
  CHECK(named.exit_code == 0);
  CHECK(named.err.find("r.h5: was made with another version of the costs than") !=
        std::string::npos);
  const ProcessResult placement = run.SimulatePlacement({});
  CHECK(placement.exit_code == 0);
  CHECK(placement.err.find(fmt::format("r.placement.json: its step time was {}, and is",
                                       FormatTime(run.best))) != std::string::npos);
}

}  // namespace
