// `emplace validate`: the whole protocol on a small graph, its files, and what it refuses.

#include <cmath>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/results/results_reader.h"
#include "tests/experiments/machine/measured_machine.h"
#include "tests/support/text.h"
#include "tests/support/words.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

bool HasTwoCores() {
  return MeasuredMachine::Devices().size() == 2;
}

const std::vector<std::string> kShort =
    {"validate", "--rounds", "2", "--seconds", "0.1", "--placements", "12", "--quiet"};

std::vector<std::string> With(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// File and JSON say the same, and what the file says of the placements adds up.
void CheckIntervals(const ResultsReader& reader,
                    const std::string& group,
                    const nlohmann::json& graph) {
  const nlohmann::json& intervals = graph["intervals"];
  REQUIRE(intervals.is_object());
  CHECK(intervals["level"] == 0.9);
  CHECK(intervals["held_out"] == 17);
  CHECK(reader.Int(group, "held_out") == 17);
  CHECK(reader.Text(group, "interval_source") == "17 held-out placements of these rounds");
  const double low_ratio = reader.Double(group, "interval_low_ratio"),
               high_ratio = reader.Double(group, "interval_high_ratio");
  CHECK(low_ratio == intervals["low_ratio"].get<double>());
  CHECK(high_ratio == intervals["high_ratio"].get<double>());
  CHECK(low_ratio < high_ratio);
  CHECK(reader.Double(group, "coverage") == intervals["coverage"].get<double>());
  CHECK(reader.Int(group, "distinct_pairs") <= 12 * 11 / 2);
  CHECK(reader.Text(group, "verdict") == graph["verdict"]);
  CHECK(reader.Double(group, "resolved_difference") == graph["resolved_difference"].get<double>());
  CHECK(reader.Int(group, "differing_pairs") == 0);  // two rounds tell nothing apart
  CHECK(std::isinf(ColumnOf<double>(reader.Table(group + "/steps"), "to_fastest_high", group)[0]));
  const std::vector<TableColumn> steps = reader.Table(group + "/steps");
  const auto column = [&](const char* name) { return ColumnOf<double>(steps, name, group); };
  const auto low = column("interval_low_ns"), high = column("interval_high_ns"),
             measured = column("measured_ns"), overlap = column("overlap");
  const auto simulated = ColumnOf<std::int64_t>(steps, "simulated_ns", group),
             bytes = ColumnOf<std::int64_t>(steps, "crossing_bytes", group),
             crossings = ColumnOf<std::int64_t>(steps, "crossings", group);
  int covered = 0;
  for (size_t i = 0; i < simulated.size(); ++i) {
    CHECK(low[i] == doctest::Approx(double(simulated[i]) * low_ratio));
    CHECK(high[i] == doctest::Approx(double(simulated[i]) * high_ratio));
    covered += low[i] <= measured[i] && measured[i] <= high[i];
    CHECK(crossings[i] > 0);  // those on one device were the calibration's
    CHECK(bytes[i] > 0);
    CHECK(overlap[i] >= 0);
    CHECK(overlap[i] <= 1);
    CHECK(graph["placements"][i]["interval_ns"]["low"].get<double>() == low[i]);
    CHECK(graph["placements"][i]["traits"]["crossing bytes"].get<double>() == double(bytes[i]));
  }
  CHECK(reader.Double(group, "coverage") == doctest::Approx(covered / 12.));
  CHECK(reader.Int(group + "/residuals", "placements") == 12);
}

TEST_CASE("a validation with a profile's costs") {
  if (!HasTwoCores()) {
    MESSAGE("skipped: one core has no two placements");
    return;
  }
  const MeasuredMachine machine;
  REQUIRE(machine.profile.exit_code == 0);
  WriteText(machine.folder / "h.json", Perceptron().Json("other"));
  const ProcessResult result = machine.Run(
      With(kShort,
           Words("--graph g.json --graph h.json --costs ./costs.json --cluster costs.cluster.yaml "
                 "-o v.h5 --json v.json --svg v.svg --errors-svg e.svg")));
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  for (const char* part : {"perceptron: ",
                           "other: ",
                           "step time error",
                           "Kendall's tau",
                           "| graph |",
                           "\n| perceptron | 12 |",
                           "\n| other | 12 |",
                           "\n| all | 24 |",
                           "no host cost",
                           "no channel contention",
                           "isolated op costs",
                           "calibrated before",
                           "held-out placements of these rounds",
                           "coverage         ",
                           "2 rounds are too few to distinguish placements",
                           "correlation of the errors of 24 placements of 2 graphs with",
                           "crossing bytes",
                           "ystematic"}) {
    CAPTURE(part);
    CHECK(Contains(result.out, part));
  }

  CHECK(result.out.starts_with("verdict          perceptron: "));
  const auto json = nlohmann::json::parse(ReadText(machine.folder / "v.json"));
  REQUIRE(json["graphs"].size() == 2);
  const ResultsReader reader(machine.folder / "v.h5");
  CHECK(reader.Children("/validation") == std::vector<std::string>{"other", "perceptron"});
  for (const auto& graph : json["graphs"]) {
    const std::string group = "/validation/" + graph["graph"].get<std::string>();
    CHECK(graph["fidelity"]["placements"] == 12);
    // Whether two cores share anything depends on the machine.
    std::vector<std::string> ablations{"calibrated before",
                                       "isolated op costs",
                                       "no channel contention",
                                       "no cold reads",
                                       "no host cost"};
    if (graph["ablations"].contains("no interference")) {
      ablations.emplace_back("no interference");
    }
    CHECK(graph["ablations"].size() == ablations.size());
    CHECK(reader.Double(group, "mape") == graph["fidelity"]["mape"].get<double>());
    CHECK(reader.Children(group + "/ablations") == ablations);
    const auto placements = reader.IntMatrix(group + "/placement");
    CHECK(std::set(placements.begin(), placements.end()).size() == 12);  // all differ
    CheckIntervals(reader, group, graph);
    for (size_t i = 0; i < 12; ++i) {
      CHECK(graph["placements"][i]["label"] == reader.Strings(group + "/labels")[i]);
    }
  }

  CHECK(reader.Int("/residuals", "graphs") == 2);
  CHECK(reader.Int("/residuals", "placements") == 24);
  CHECK(reader.Strings("/residuals/traits") ==
        std::vector<std::string>{"crossing bytes", "crossings", "overlap", "step time"});
  CHECK(json["residuals"]["placements"] == 24);
  CHECK(ColumnOf<double>(reader.Table("/residuals/correlations"), "pearson", "residuals")[0] ==
        json["residuals"]["traits"]["crossing bytes"]["pearson"].get<double>());

  const std::string svg = ReadText(machine.folder / "v.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(Contains(ReadText(machine.folder / "e.svg"), "bytes that cross between devices [MB]"));

  CheckRefused(machine.Run(With(kShort, {"--graph", "g.json", "-o", "v.h5"})),
               2,
               {"v.h5: holds a validation of other, perceptron; --force overwrites it, -o names "
                "another file"});
  // Too few held-out placements: no intervals, and the reason.
  const ProcessResult taken = machine.Run(
      With(kShort,
           Words("--graph g.json --costs ./costs.json --cluster costs.cluster.yaml --calibrate 0 "
                 "-o w.h5 --json w.json")));
  REQUIRE(taken.exit_code == 0);
  CHECK(Contains(taken.out, "none: 4 held-out placements of perceptron; expected at least 9"));
  CHECK(nlohmann::json::parse(ReadText(machine.folder / "w.json"))["graphs"][0]["intervals"] ==
        nullptr);
  const ResultsReader none(machine.folder / "w.h5");
  const std::string group = "/validation/perceptron";
  CHECK(none.Int(group, "held_out") == 4);
  CHECK(std::isinf(none.Double(group, "interval_high_ratio")));
  CHECK(!none.HasAttribute(group, "coverage"));
}

TEST_CASE("without costs the machine is profiled first; JSON on stdout") {
  const TempDir folder;
  WriteText(folder / "g.json", Perceptron().Json());
  std::vector<std::string> arguments =
      With(kShort, {"--graph", "g.json", "--devices", MeasuredMachine::DeviceList(), "--json"});
  if (!HasTwoCores()) {
    // All that one device allows was the calibration's.
    CheckRefused(RunEmplace(arguments, {.folder = folder.path()}), 2, {"perceptron", "at least 2"});
    return;
  }
  const ProcessResult result = RunEmplace(arguments, {.folder = folder.path()});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["properties"]["placement_seed"] == "1");
  CHECK(json["graphs"][0]["fidelity"]["placements"] == 12);
}

TEST_CASE("what a validation refuses") {
  const MeasuredMachine machine;
  REQUIRE(machine.profile.exit_code == 0);
  const auto refused = [&](std::vector<std::string> arguments,
                           const std::vector<std::string>& fragments) {
    CheckRefused(machine.Run(With(kShort, arguments)), 2, fragments);
  };
  const std::vector<std::string> model = {
      "--costs", "./costs.json", "--cluster", "costs.cluster.yaml"};
  refused({}, {"--graph", "required"});
  refused({"--graph", "none.json"}, {"none.json"});
  refused({"--graph", "g.json", "--graph", "./g.json"}, {"--graph", "two graphs", "perceptron"});
  refused({"--graph", "g.json", "--costs", "./costs.json"}, {"--costs and --cluster go together"});
  refused({"--graph", "g.json", "--devices", "gpu:77"}, {"--devices", "gpu:77"});
  refused({"--graph", "g.json", "--seed", "1"}, {"--seed", "1", "calibration"});
  refused(With(model, {"--graph", "g.json", "--seed", "1"}), {"--seed", "1", "calibrated"});
  refused(With({"--costs", "none", "--cluster", "4xk80"}, {"--graph", "g.json"}), {"--costs"});
  // Costs and devices of two machines.
  WriteText(machine.folder / "c.yaml", ClusterYaml());
  refused({"--graph", "g.json", "--costs", "./costs.json", "--cluster", "c.yaml"}, {"costs.json"});
}

}  // namespace
