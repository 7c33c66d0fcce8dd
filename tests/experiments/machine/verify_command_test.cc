// `emplace verify` at the end of the loop profile -> run -> verify, and what it refuses. Structure
// and consistency, not speed or accuracy: the machine may be busy.

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/cost/cost_table.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/machine/measured_machine.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Searched : MeasuredMachine {
  Searched() {
    REQUIRE(profile.exit_code == 0);
    const ProcessResult search = Search("r.h5");
    CAPTURE(search.err);
    REQUIRE(search.exit_code == 0);
  }
};

TEST_CASE("the best placements of a run are executed and compared") {
  const Searched machine;
  const ResultsReader before(machine.folder / "r.h5");
  const ProcessResult verify =
      machine.Run({"verify", "r.h5", "--rounds", "3", "--top", "2", "--quiet"});
  CAPTURE(verify.err);
  REQUIRE(verify.exit_code == 0);
  CHECK(verify.err == "");
  for (const char* part : {"graph    perceptron",
                           "placement",
                           "measured",
                           "simulated",
                           "the run said",
                           "step time error",
                           "busy time error",
                           "peak memory",
                           "kernels",
                           "op costs from",
                           "dispatch",
                           "interval         none: 4 held-out placements of perceptron",
                           "results  r.h5"}) {
    CAPTURE(part);
    CHECK(Contains(verify.out, part));
  }

  const ResultsReader reader(machine.folder / "r.h5");
  CHECK(verify.out.starts_with(
      "verdict          perceptron: " + reader.Text("/verification", "verdict") + "\n"));
  CHECK(reader.Children("/agents") == before.Children("/agents"));  // the run is still there
  const std::vector<std::string> labels = reader.Strings("/verification/labels");
  REQUIRE(!labels.empty());
  CHECK(labels.size() <= 2);
  CHECK(reader.Int("/verification", "placements") == static_cast<std::int64_t>(labels.size()));
  CHECK(reader.Int("/verification", "rounds") == 3);
  CHECK(reader.Text("/verification", "graph") == "perceptron");
  CHECK(reader.Text("/verification", "mode") == "graph");
  CHECK(reader.Strings("/verification/device_names") == MeasuredMachine::Devices());
  const size_t num_devices = MeasuredMachine::Devices().size();

  const std::vector<TableColumn> steps = reader.Table("/verification/steps");
  const auto step_times = reader.IntMatrix("/verification/step_times_ns");
  const auto placements = reader.IntMatrix("/verification/placement");
  REQUIRE(step_times.size() == labels.size());
  REQUIRE(placements.size() == labels.size());
  const auto ints = [&](const char* name) { return ColumnOf<std::int64_t>(steps, name, "steps"); };
  const auto doubles = [&](const char* name) { return ColumnOf<double>(steps, name, "steps"); };
  double error = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    CAPTURE(labels[i]);
    const double measured = doubles("measured_ns")[i];
    const auto simulated = static_cast<double>(ints("simulated_ns")[i]);
    REQUIRE(step_times[i].size() == 3);
    std::vector<std::int64_t> sorted = step_times[i];
    std::sort(sorted.begin(), sorted.end());
    CHECK(measured == static_cast<double>(sorted[1]));
    CHECK(doubles("low_ns")[i] <= measured);
    CHECK(measured <= doubles("high_ns")[i]);
    error += std::abs(simulated - measured) / measured / static_cast<double>(labels.size());
    // The run searched in stream semantics with the same costs.
    CHECK(ints("simulated_ns")[i] == ints("searched_ns")[i]);
    const std::string first = labels[i].substr(0, labels[i].find(','));
    CHECK(placements[i] == before.Ints("/agents/" + first + "/best/placement"));
    CHECK(reader.IntMatrix("/verification/busy_simulated_ns")[i] ==
          before.Ints("/agents/" + first + "/best/outcome/busy_ns"));
    CHECK(reader.IntMatrix("/verification/busy_measured_ns")[i].size() == num_devices);
    const auto peaks = reader.IntMatrix("/verification/peak_simulated_bytes")[i];
    CHECK(peaks == reader.IntMatrix("/verification/peak_executor_bytes")[i]);
    for (size_t d = 0; d < num_devices; ++d) {
      CHECK(reader.IntMatrix("/verification/arena_bytes")[i][d] >= peaks[d]);
    }
  }
  CHECK(reader.Double("/verification", "mape") == doctest::Approx(error));
  CHECK(reader.Int("/verification", "equal_peaks") == static_cast<std::int64_t>(labels.size()));
  CHECK(reader.Double("/verification", "cost_source_measured") == doctest::Approx(1));
}

TEST_CASE("placements are executed and simulated in the issue order of the run") {
  const Searched machine;
  REQUIRE(machine.Search("rank.h5", {"--set", "priority=upward_rank"}).exit_code == 0);
  const ProcessResult verify = machine.Run({"verify", "rank.h5", "--rounds", "1", "--quiet"});
  CAPTURE(verify.err);
  REQUIRE(verify.exit_code == 0);
  const ResultsReader reader(machine.folder / "rank.h5");
  CHECK(reader.Text("/problem", "priority") == "upward_rank");
  CHECK(reader.Ints("/problem/issue_order").size() == reader.Strings("/problem/op_names").size());
  const std::vector<TableColumn> steps = reader.Table("/verification/steps");
  CHECK(ColumnOf<std::int64_t>(steps, "simulated_ns", "steps") ==
        ColumnOf<std::int64_t>(steps, "searched_ns", "steps"));
  CHECK(reader.IntMatrix("/verification/peak_simulated_bytes") ==
        reader.IntMatrix("/verification/peak_executor_bytes"));
}

TEST_CASE("intervals come from the held-out placements of the profile") {
  if (MeasuredMachine::Devices().size() < 2) {
    MESSAGE("skipped: one core has no two placements");
    return;
  }
  const MeasuredMachine machine({"--quiet", "--in-situ", "12"});
  REQUIRE(machine.profile.exit_code == 0);
  const CostTable table = ReadCostTable(machine.folder / "costs.json");
  REQUIRE(table.held_out.size() == 12);
  for (const HeldOutStep& step : table.held_out) {
    CHECK(step.graph == "perceptron");
    CHECK(step.samples == 3);
  }
  CHECK(table.held_out[0].placement == "all on cpu:0");
  const ProcessResult search = machine.Search("r.h5");
  REQUIRE(search.exit_code == 0);
  CHECK(Contains(search.out, "interval ["));
  CHECK(Contains(search.out, "\nresolves differences above "));
  CHECK(!Contains(search.out, "equal to it"));
  const auto json = nlohmann::json::parse(machine.Search("j.h5", {"--json"}).out);
  CHECK(Contains(search.out, "90 % of measured steps, from 12 held-out placements of perceptron"));
  const ProcessResult verify = machine.Run({"verify", "r.h5", "--rounds", "3", "--quiet"});
  REQUIRE(verify.exit_code == 0);
  CHECK(Contains(verify.out, "according to 12 held-out placements of perceptron"));
  CHECK(Contains(verify.out, "coverage         "));
  const ResultsReader reader(machine.folder / "r.h5");
  CHECK(reader.Int("/verification", "held_out") == 12);
  double least = 1e9, most = 0;
  for (const HeldOutStep& step : table.held_out) {
    least = std::min(least, step.measured_ns / step.simulated_ns);
    most = std::max(most, step.measured_ns / step.simulated_ns);
  }
  // Around the median, as far as nearly all of them are from it.
  const double low = reader.Double("/verification", "interval_low_ratio"),
               high = reader.Double("/verification", "interval_high_ratio");
  CHECK(low < high);
  CHECK(reader.Double("/problem", "interval_low_ratio") == low);
  CHECK(reader.Double("/problem", "interval_high_ratio") == high);
  CHECK(reader.Text("/problem", "interval_source") == "12 held-out placements of perceptron");
  CHECK(reader.Double("/problem", "resolved_difference") > 0);
  CHECK(json["resolved_difference"] == reader.Double("/problem", "resolved_difference"));
  CHECK(json["interval_low_ratio"].get<double>() == low);
  CHECK(json["interval_high_ratio"].get<double>() == high);
  // Queues have an interval of their own; periods have none.
  REQUIRE(machine.Search("q.h5", {"--set", "semantics=queue"}).exit_code == 0);
  CHECK(ResultsReader(machine.folder / "q.h5").Double("/problem", "interval_low_ratio") > 0);
  REQUIRE(machine.Search("p.h5", {"--set", "objective=period"}).exit_code == 0);
  CHECK(!ResultsReader(machine.folder / "p.h5").HasAttribute("/problem", "interval_level"));
  CHECK(std::sqrt(low * high) > least);
  CHECK(std::sqrt(low * high) < most);
}

TEST_CASE("a second verification replaces the first; everything as JSON") {
  const Searched machine;
  REQUIRE(machine.Run({"verify", "r.h5", "--rounds", "1", "--quiet"}).exit_code == 0);
  const ProcessResult verify =
      machine.Run({"verify", "r.h5", "--top", "1", "--rounds", "2", "--json", "--quiet"});
  REQUIRE(verify.exit_code == 0);
  const auto json = nlohmann::ordered_json::parse(verify.out);
  CHECK(json["graph"] == "perceptron");
  CHECK(json["mode"] == "graph");
  CHECK(json["fidelity"] == nullptr);  // nothing to order
  CHECK(json["pairs"] == nullptr);
  CHECK(json.begin().key() == "verdict");
  REQUIRE(json["placements"].size() == 1);
  CHECK(json["placements"][0]["measured_ns"]["steps"].size() == 2);
  const ResultsReader reader(machine.folder / "r.h5");
  CHECK(reader.Strings("/verification/labels") ==
        std::vector<std::string>{json["placements"][0]["label"]});
  CHECK(reader.Int("/verification", "rounds") == 2);
  CHECK(!reader.HasAttribute("/verification", "kendall_tau"));
}

TEST_CASE("what a verification refuses") {
  const Searched machine;
  WriteText(machine.folder / "text.h5", "no HDF5");
  const auto refused = [&](std::vector<std::string> arguments,
                           const std::vector<std::string>& fragments) {
    arguments.insert(arguments.begin(), "verify");
    arguments.insert(arguments.end(), {"--quiet", "--rounds", "1"});
    CheckRefused(machine.Run(arguments), 2, fragments);
    CHECK(!ResultsReader(machine.folder / "r.h5").Has("/verification"));
  };
  refused({"none.h5"}, {"none.h5"});
  refused({"text.h5"}, {"text.h5", "not a results file of emplace"});
  refused({"costs.json"}, {"costs.json", "not a results file of emplace"});
  refused({"r.h5", "--devices", "gpu:77"}, {"--devices", "\"gpu:77\"", "this machine has"});
  refused({"r.h5", "--eager"}, {"dispatch mode eager", "CPU devices", "expected mode graph"});
  refused({"r.h5", "--top", "0"}, {"--top", "0"});
  refused({"r.h5", "--cluster", "4xk80"}, {"r.h5", "cpu:0", "\"4xk80\"", "gpu:3", "--cluster"});
  refused({"r.h5", "--graph", "inception_v3"},
          {"r.h5", "\"perceptron\"", "\"inception_v3\"", "--graph"});

  // The graph changed, then moved; then the costs did.
  std::string changed = Perceptron().Json();
  const size_t at = changed.find("fc1/mm");
  REQUIRE(at != std::string::npos);
  for (size_t i = at; i != std::string::npos; i = changed.find("fc1/mm", i)) {
    changed.replace(i, 6, "fc1/MM");
  }
  WriteText(machine.folder / "g.json", changed);
  refused({"r.h5"}, {"r.h5", "another version", "\"fc1/mm\"", "\"fc1/MM\"", "--graph"});
  std::filesystem::remove(machine.folder / "g.json");
  refused({"r.h5"}, {"r.h5", "graph", "g.json", "does not exist any more", "--graph"});
  WriteText(machine.folder / "moved.json", Perceptron().Json());
  std::filesystem::remove(machine.folder / "costs.json");
  refused({"r.h5", "--graph", "moved.json"},
          {"r.h5", "costs.json", "does not exist any more", "--costs"});
}

TEST_CASE("a cluster that is not this machine") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml", "graph: g.json\ncluster: c.yaml\nagents: [heft]\n");
  const ProcessOptions here{.folder = folder.path()};
  REQUIRE(RunEmplace({"run", "run.yaml", "-o", "r.h5", "--quiet"}, here).exit_code == 0);
  // A GPU that no machine has, so that it is refused everywhere.
  std::string cluster = ClusterYaml();
  for (size_t i = cluster.find("gpu:1"); i != std::string::npos; i = cluster.find("gpu:1")) {
    cluster.replace(i, 5, "gpu:99");
  }
  WriteText(folder / "c.yaml", cluster);
  REQUIRE(RunEmplace({"run", "run.yaml", "-o", "r.h5", "--force", "--quiet"}, here).exit_code == 0);
  CheckRefused(RunEmplace({"verify", "r.h5"}, here),
               2,
               {"r.h5", "cluster \"inline\"", "\"gpu:", "this machine has"});
}

TEST_CASE("costs of another machine are a warning with both names") {
  const Searched machine;
  CostTable table = ReadCostTable(machine.folder / "costs.json");
  const std::string here = table.properties.at("cpu");
  table.properties["cpu"] = "Abacus 3000";
  WriteText(machine.folder / "costs.json", FormatCostTable(table));
  const ProcessResult verify = machine.Run({"verify", "r.h5", "--rounds", "1", "--quiet"});
  CHECK(verify.exit_code == 0);
  CHECK(Contains(verify.err, "emplace: warning: "));
  CHECK(Contains(verify.err, "costs.json"));
  CHECK(Contains(verify.err, "\"Abacus 3000\""));
  CHECK(Contains(verify.err, "\"" + here + "\""));
  const auto warnings = ResultsReader(machine.folder / "r.h5").Strings("/verification/warnings");
  REQUIRE(!warnings.empty());
  CHECK(Contains(warnings[0], "\"Abacus 3000\""));
  CHECK(Contains(verify.out, "warning          " + warnings[0]));
}

}  // namespace
