#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/cluster/cluster_io.h"
#include "framework/graph/graph_io.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/machine/measured_machine.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

Json DataOf(const fs::path& page) {
  const std::string text = ReadText(page), begin = "id=\"data\">";
  const size_t at = text.find(begin) + begin.size();
  return Json::parse(text.substr(at, text.find("</script>", at) - at));
}

// A run of four agents on a random graph, three seeds.
struct ReportedRun {
  TempDir folder;
  ProcessResult run;

  explicit ReportedRun(const std::string& memory = "1GiB") {
    WriteText(folder / "g.json", LayeredJson(40));
    WriteText(folder / "c.yaml", ClusterYaml(memory));
    WriteText(folder / "r.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: [single_gpu, heft, random, hill_climb]\n"
              "seeds: 0:3\nbudget: {evaluations: 60, seconds: none}\n");
    run = Emplace({"run", "r.yaml", "-o", "r.h5", "--quiet"});
  }
  ProcessResult Emplace(std::vector<std::string> arguments, ProcessOptions options = {}) const {
    options.folder = folder.path();
    return RunEmplace(std::move(arguments), options);
  }
};

// The steps of a search's curve over the seconds that its evaluations would take on the hardware:
// each step time that fits counts steps_per_measurement times.
std::vector<double> HardwareSteps(const ResultsReader& reader, const std::string& group) {
  const std::string dataset = group + "/evaluations";
  const auto table = reader.Table(dataset);
  const auto& times = ColumnOf<std::int64_t>(table, "step_time_ns", dataset);
  const auto& feasible = ColumnOf<std::int64_t>(table, "feasible", dataset);
  const auto& best = ColumnOf<double>(table, "best_step_time_ns", dataset);
  std::vector<double> steps;
  double seconds = 0, last = -1;
  for (size_t i = 0; i < times.size(); ++i) {
    if (feasible[i] == 0) continue;
    seconds += 1e-9 * static_cast<double>(times[i] * reader.Int(group, "steps_per_measurement"));
    if (best[i] != last) steps.push_back(seconds);
    last = best[i];
  }
  return steps;
}

// Each seed is a dot, and the curves end where the longest search ended.
void CheckSeedsAndEfforts(const Json& agent, const ResultsReader& reader) {
  double seconds = 0, hardware = 0;
  std::vector<double> steps;
  for (const Json& seed : agent["seeds"]) {
    const std::string group = "/agents/" + seed["label"].get<std::string>();
    CHECK(reader.Text(group, "label") == agent["agent"]);
    CHECK(seed["step_time_ns"] == reader.Int(group + "/best/outcome", "step_time_ns"));
    CHECK(seed["hardware_seconds"] == reader.Double(group, "hardware_seconds"));
    seconds = std::max(seconds, reader.Double(group, "seconds"));
    hardware = std::max(hardware, reader.Double(group, "hardware_seconds"));
    for (const double step : HardwareSteps(reader, group)) steps.push_back(step);
  }
  const Json& over_seconds = agent["curve_over_seconds"];
  const Json& over_hardware = agent["curve_over_hardware"];
  CHECK(over_seconds["seconds"].back().get<double>() == doctest::Approx(seconds).epsilon(1e-4));
  CHECK(over_seconds["median"].back() == agent["curve"]["median"].back());
  CHECK(over_hardware["seconds"].back().get<double>() == doctest::Approx(hardware).epsilon(1e-4));
  CHECK(over_hardware["median"].back() == agent["curve"]["median"].back());
  CHECK(over_hardware["seconds"][0].get<double>() ==
        doctest::Approx(*std::min_element(steps.begin(), steps.end())).epsilon(1e-4));
  CHECK(agent["updates"].is_null());
}

TEST_CASE("a report holds what the results file says") {
  const ReportedRun files;
  REQUIRE(files.run.exit_code == 0);
  const ProcessResult result = files.Emplace({"report", "r.h5"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.starts_with("report   r.html ("));
  const Json data = DataOf(files.folder / "r.html");
  CHECK(data["title"] == "r");
  CHECK(data["sweep"].is_null());
  CHECK(data["runs"] == Json{{"done", 8}, {"failed", 0}, {"stopped", 0}, {"open", 0}});
  REQUIRE(data["problems"].size() == 1);
  const Json& problem = data["problems"][0];
  CHECK(problem["title"] == "g.json on c.yaml");

  const ResultsReader reader(files.folder / "r.h5");
  CHECK(problem["bound_ns"] == reader.Int("/problem", "bound_ns"));
  CHECK(problem["best_single_device"]["device"] == reader.Text("/problem", "best_single_device"));
  CHECK(problem["best_single_device"]["step_time_ns"] ==
        reader.Int("/problem", "best_single_device_ns"));
  CHECK(problem["seeds"] == std::vector<int>{0, 1, 2});
  std::string best_label;
  std::int64_t best = INT64_MAX;
  for (const Json& agent : problem["agents"]) {
    std::vector<std::int64_t> times;
    for (const std::string& label : reader.Children("/agents")) {
      const std::string group = "/agents/" + label;
      if (reader.Text(group, "label") != agent["agent"]) continue;
      times.push_back(reader.Int(group + "/best/outcome", "step_time_ns"));
      if (times.back() < best) {
        best = times.back();
        best_label = label;
      }
    }
    std::sort(times.begin(), times.end());
    CHECK(agent["step_time_ns"]["median"] == times[times.size() / 2]);
    CHECK(agent["curve"]["median"].back() == times[times.size() / 2]);
    CHECK(agent["curve"]["least"].back() == times.front());
    CHECK(agent["curve"]["most"].back() == times.back());
    CheckSeedsAndEfforts(agent, reader);
  }
  CHECK(problem["drawn"]["label"] == best_label);
  CHECK(problem["drawn"]["step_time_ns"] == best);
  CHECK(problem["timeline"]["step_time_ns"] == best);
  CHECK(problem["drawn"]["placement"] == reader.Ints("/agents/" + best_label + "/best/placement"));
  CHECK(problem["timeline"]["ops"]["op"].size() == 40);

  // 40 groups of single ops: at the finest level all are drawn, each on its device.
  REQUIRE(problem["levels"].size() == 3);
  CHECK(problem["levels"][0]["nodes"].size() <= 12);
  CHECK(problem["levels"][1]["nodes"].size() <= 25);
  const Json& level = problem["levels"][2];
  CHECK(level["name"] == "all 40 groups");
  for (int v = 0; v < 40; ++v) {
    const Json& node = level["nodes"][level["node_of_op"][v].get<int>()];
    CHECK(node["device"] == problem["drawn"]["placement"][v]);
    CHECK_FALSE(node.contains("shares"));
  }
}

TEST_CASE("a run with a plan has the picture of its replicas") {
  const ReportedRun files;
  WriteText(files.folder / "step.json", FormatGraph(ChainStep({})));
  WriteText(files.folder / "gpus.yaml", FormatCluster(EqualGpus(2)));
  WriteText(files.folder / "plan.yaml",
            "graph: step.json\ncluster: gpus.yaml\nagents: [heft]\n"
            "plan: {replicas: 2, micro_batches: 2}\n");
  REQUIRE(files.Emplace({"run", "plan.yaml", "-o", "plan.h5", "--quiet"}).exit_code == 0);
  for (const std::string file : {"plan", "r"}) {
    REQUIRE(files.Emplace({"report", file + ".h5"}).exit_code == 0);
  }
  const Json planned = DataOf(files.folder / "plan.html")["problems"][0]["plan_picture"];
  CHECK(planned.get<std::string>().find("backward of micro-batch 1, replica 1: ") !=
        std::string::npos);
  CHECK(DataOf(files.folder / "r.html")["problems"][0]["plan_picture"].is_null());
}

TEST_CASE("another placement, a title, trace and DOT; without dot") {
  const ReportedRun files;
  std::vector<std::string> arguments =
      Words("report r.h5 -o o.html --placement random.seed1 --trace t.json --dot g.dot --title");
  arguments.emplace_back("Mine <1>");
  const ProcessResult result = files.Emplace(arguments);
  REQUIRE(result.exit_code == 0);
  const Json data = DataOf(files.folder / "o.html");
  CHECK(data["title"] == "Mine <1>");
  CHECK(data["problems"][0]["drawn"]["label"] == "random.seed1");
  const Json trace = Json::parse(ReadText(files.folder / "t.json"));
  CHECK(trace["otherData"]["step_time_ns"] == data["problems"][0]["drawn"]["step_time_ns"]);
  const std::string dot = ReadText(files.folder / "g.dot");
  CHECK(dot.starts_with("digraph"));
  CHECK(dot.find("label=\"gpu:1\"") != std::string::npos);

  const ProcessResult file =
      files.Emplace({"report", "r.h5", "--placement", "r.placement.json", "-o", "p.html"});
  REQUIRE(file.exit_code == 0);
  CHECK(DataOf(files.folder / "p.html")["problems"][0]["drawn"]["searched_ns"].is_null());

  const ProcessOptions no_dot{.environment = {{"PATH", files.folder.path().string()}}};
  CheckRefused(files.Emplace({"report", "r.h5"}, no_dot), 1, {"dot", "graphviz", "--no-graph"});
  CHECK(files.Emplace({"report", "r.h5", "--no-graph"}, no_dot).exit_code == 0);
  CHECK(DataOf(files.folder / "r.html")["problems"][0]["levels"].is_null());
}

TEST_CASE("a run in which nothing fits is shown as out of memory") {
  const ReportedRun files("1KiB");
  REQUIRE(files.run.exit_code == 0);
  WriteText(files.folder / "only.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [single_gpu]\nbudget: {evaluations: 5}\n");
  files.Emplace({"run", "only.yaml", "-o", "only.h5", "--quiet"});
  const ProcessResult result = files.Emplace({"report", "only.h5"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json problem = DataOf(files.folder / "only.html")["problems"][0];
  CHECK(problem["best_single_device"]["device"] == "cpu:0");
  CHECK(problem["agents"][0]["step_time_ns"]["median"].is_null());
  CHECK(problem["agents"][0]["deficit_bytes"]["gpu:0"] > 0);
  CHECK(problem["agents"][0]["curve"]["median"].back().is_null());
  CHECK(problem["drawn"]["feasible"] == false);
}

TEST_CASE("a sweep: a problem each, and those that have not run") {
  const SweepFiles files(40);
  REQUIRE(files.Run({"-o", "s", "--quiet"}).exit_code == 0);
  fs::remove(files.folder / "s/runs/0009.h5");
  const ProcessOptions here{.folder = files.folder.path()};
  const ProcessResult result = RunEmplace({"report", "s"}, here);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json data = DataOf(files.folder / "s/report.html");
  CHECK(data["sweep"] == "s");
  CHECK(data["runs"] == Json{{"done", 9}, {"failed", 0}, {"stopped", 0}, {"open", 1}});
  REQUIRE(data["problems"].size() == 2);
  CHECK(data["problems"][1]["title"] == "h.json on c.yaml");
  CHECK(data["problems"][1]["runs"]["open"] == 1);
  CHECK(data["graphs"].size() == 2);
  CHECK(data["table"].is_null() != fs::exists(files.folder / "s/table.yaml"));

  CheckRefused(RunEmplace({"report", "s", "--trace", "t.json"}, here),
               2,
               {"--trace", "one problem", "hold 2", "g.json on c.yaml, h.json on c.yaml"});
  CheckRefused(RunEmplace({"report", "s", "--placement", "p.json"}, here), 2, {"one problem"});
  CheckRefused(RunEmplace({"report", "s", "--placement", "hill_clim"}, here),
               2,
               {"--placement", "unknown agent \"hill_clim\"", "did you mean \"hill_climb\""});

  {
    ResultsFile file(files.folder / "s/runs/0001.h5", ResultsMode::kExtend);
    file.SetAttribute("/agents/hill_climb.seed0", "status", "failed");
    file.SetAttribute("/agents/hill_climb.seed0", "error", "no luck");
    file.Commit();
  }
  REQUIRE(RunEmplace({"report", "s", "--no-graph"}, here).exit_code == 0);
  const Json failed = DataOf(files.folder / "s/report.html");
  CHECK(failed["runs"]["failed"] == 1);
  REQUIRE(failed["failures"].size() == 1);
  CHECK(failed["failures"][0]["error"] == "no luck");
  for (const Json& agent : failed["problems"][0]["agents"]) {
    CHECK(agent["failed"] == (agent["agent"] == "hill_climb" ? 1 : 0));
  }

  for (const auto& entry : fs::directory_iterator(files.folder / "s/runs")) {
    fs::remove(entry.path());
  }
  REQUIRE(RunEmplace({"report", "s"}, here).exit_code == 0);
  const Json empty = DataOf(files.folder / "s/report.html");
  CHECK(empty["runs"]["open"] == 10);
  CHECK_FALSE(empty["problems"][0].contains("drawn"));
}

TEST_CASE("the table of a layout is part of the report") {
  const SweepFiles files(20);
  REQUIRE(files.Run({"-o", "s", "--quiet"}).exit_code == 0);
  WriteText(files.folder / "t.yaml",
            "title: Ours\nunit: us\nrows: [graph]\n"
            "columns: [{name: heft, agent: heft}, {name: hill, agent: hill_climb}]\n"
            "claims: [{text: climbing helps, confidence: ours, holds: hill <= heft}]\n");
  const ProcessResult result = RunEmplace({"report", "s", "--layout", "./t.yaml", "-o", "r.html"},
                                          {.folder = files.folder.path()});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json table = DataOf(files.folder / "r.html")["table"];
  CHECK(table["title"] == "Ours");
  CHECK(table["rows"].size() == 2);
  CHECK(table["claims"][0]["text"] == "climbing helps");
}

TEST_CASE("what was measured stands beside what was simulated") {
  const MeasuredMachine machine({"--quiet", "--in-situ", "12"});
  REQUIRE(machine.profile.exit_code == 0);
  REQUIRE(machine.Search("r.h5").exit_code == 0);
  REQUIRE(machine.Run({"verify", "r.h5", "--rounds", "2", "--top", "2", "--quiet"}).exit_code == 0);
  const ProcessResult result = machine.Run({"report", "r.h5"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json data = DataOf(machine.folder / "r.html")["problems"][0]["verification"];
  const ResultsReader reader(machine.folder / "r.h5");
  const auto table = reader.Table("/verification/steps");
  CHECK(data["simulated_ns"] == ColumnOf<std::int64_t>(table, "simulated_ns", "steps"));
  CHECK(data["measured_ns"] == ColumnOf<double>(table, "measured_ns", "steps"));
  CHECK(data["labels"] == reader.Strings("/verification/labels"));
  CHECK(data["mape"] == reader.Double("/verification", "mape"));
  CHECK(data["verdict"] == reader.Text("/verification", "verdict"));
  CHECK(data["warnings"] == reader.Strings("/verification/warnings"));
  REQUIRE(data.contains("to_fastest") == (data["labels"].size() == 2));
  if (data["labels"].size() == 2) {
    CHECK(data["to_fastest"] == ColumnOf<double>(table, "to_fastest", "steps"));
    CHECK(data["to_fastest_high"][0] == nullptr);  // two rounds have no interval
  }
  const bool is_sure = MeasuredMachine::Devices().size() == 2;  // one core has no 9 placements
  REQUIRE(data.contains("coverage") == is_sure);
  if (!is_sure) return;
  CHECK(data["coverage"] == reader.Double("/verification", "coverage"));
  CHECK(data["interval_high_ratio"] == reader.Double("/verification", "interval_high_ratio"));
  CHECK(data["interval_source"] == "12 held-out placements of perceptron");
}

TEST_CASE("what is no result is refused") {
  const TempDir folder;
  const ProcessOptions here{.folder = folder.path()};
  CheckRefused(RunEmplace({"report", "no.h5"}, here), 2, {"no.h5"});
  WriteText(folder / "text.h5", "no HDF5");
  CheckRefused(RunEmplace({"report", "text.h5"}, here), 2, {"text.h5"});
  fs::create_directory(folder / "empty");
  CheckRefused(RunEmplace({"report", "empty"}, here), 2, {"empty", "sweep.yaml"});
}

}  // namespace
