#include <sstream>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

const std::string kLayout =
    "title: Mine\n"
    "unit: us\n"
    "rows: [{label: G, graph: g.json}, {label: H, graph: h.json}]\n"
    "columns:\n"
    "  - {agent: heft}\n"
    "  - {name: search, agent: hill_climb}\n"
    "  - {name: to_heft, agent: hill_climb, value: evaluations_to, target: 1.5 * heft}\n"
    "  - {name: gain, formula: 1 - search / heft, unit: percent}\n"
    "claims:\n"
    "  - {text: searching is worth it, confidence: ours, holds: search <= 1000 * heft}\n";

std::string Indented(const std::string& text) {
  std::string indented = "  ";
  for (const char c : text) indented += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return indented;
}

ProcessResult Table(const SweepFiles& files, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "table");
  return RunEmplace(arguments, {.folder = files.folder.path()});
}

TEST_CASE("a sweep with a layout: YAML only, from config to claims") {
  const SweepFiles files;
  const std::string sweep = ReadText(files.folder / "s.yaml");
  WriteText(files.folder / "s.yaml", sweep + "table:\n" + Indented(kLayout) + "\n");
  REQUIRE(files.Run({"-o", "out", "--quiet", "--set", "scale=small"}).exit_code == 0);
  const ProcessResult table = Table(files, {"out", "--claims"});
  CHECK(table.exit_code == 0);
  // seq2seq has runs and no column: its rows have, so that nothing is to be warned of.
  CHECK(table.err == "");
  CheckHolds(table.out, "## Mine\n\n|     | heft [us] |");
  CheckHolds(table.out, "\nSimulated: median over 2 seeds.\n");
  CheckHolds(table.out, "- **holds** [ours] searching is worth it");
  CheckHolds(table.out, "2 of 2 rows, in 100.0 % of resamples of 2 seeds\n");
  CHECK(Table(files, {"out", "--claims"}).out == table.out);

  // The same numbers by hand, from the files.
  const ProcessResult json = Table(files, {"out", "--format", "json"});
  const auto cells = nlohmann::json::parse(json.out)["rows"][1]["cells"];
  std::vector<double> best;
  for (const int run : {6, 7}) {
    const ResultsReader reader(files.folder / fmt::format("out/runs/{:04}.h5", run));
    REQUIRE(reader.Text("/config", "run").find("graph=h.json cluster=c.yaml agent=hill_climb") !=
            std::string::npos);
    best.push_back(static_cast<double>(reader.Int(
        fmt::format("/agents/hill_climb.seed{}/best/outcome", run - 6), "step_time_ns")));
  }
  CHECK(cells["search"]["median"] == doctest::Approx((best[0] + best[1]) / 2e3));
  CHECK(cells["search"]["interval"] == "range");
  CHECK(cells["search"]["interval_level"] == 0.5);
  CHECK(cells["search"]["low"] == doctest::Approx(std::min(best[0], best[1]) / 1e3));
  CHECK(cells["search"]["high"] == doctest::Approx(std::max(best[0], best[1]) / 1e3));

  // --resume has another layout: the runs stay, the table changes.
  std::string other = kLayout;
  other.replace(other.find("Mine"), 4, "Yours");
  WriteText(files.folder / "layout.yaml", other);
  WriteText(files.folder / "s.yaml", sweep + "table: layout.yaml\n");
  const ProcessResult resumed =
      files.Run({"-o", "out", "--quiet", "--resume", "--set", "scale=small"});
  CHECK(resumed.exit_code == 0);
  CheckHolds(resumed.out, "10 are done, 0 start");
  CheckHolds(Table(files, {"out"}).out, "## Yours\n");

  CheckHolds(Table(files, {"out", "--set", "title=Ours", "--set", "unit=ms"}).out,
             "## Ours\n\n|     | heft [ms] |");
  CheckHolds(Table(files, {"out", "--format", "csv"}).out, "\nH,gain,gain,percent,simulated,,");
  CheckHolds(Table(files, {"out", "--format", "tex"}).out, "\\begin{tabular}{lrrrr}");
  CHECK(Table(files, {"out", "-o", "t.md"}).out == "");
  CheckHolds(ReadText(files.folder / "t.md"), "## Yours\n");
  CheckHolds(Table(files, {"out", "--layout", "agents"}).out, "| graph  | cluster |");
  CheckHolds(Table(files, {"out", "--layout", "effort"}).out, "| h.json | c.yaml  | seq2seq");
  CheckHolds(Table(files, {"out/runs/0000.h5", "out/runs/0005.h5"}).out, "| heft [ms] |");
  // The sweep config brings the layout, too.
  CheckHolds(Table(files, {"out", "--layout", "s.yaml"}).out, "## Yours\n");

  fs::remove(files.folder / "out/runs/0006.h5");
  const ProcessResult partial = Table(files, {"out", "--claims"});
  CHECK(partial.exit_code == 0);
  CheckHolds(partial.out, "(1 of 2 run)");
  CheckHolds(partial.out, "Runs: 9 of 10 done, 0 failed, 1 not yet.");
  fs::remove(files.folder / "out/runs/0007.h5");
  CheckHolds(Table(files, {"out", "--claims"}).out, "- **open** [ours] searching is worth it");
}

TEST_CASE("the layout is read before the first run") {
  const SweepFiles files;
  const std::string sweep = ReadText(files.folder / "s.yaml");
  const auto refused = [&](const std::string& table, std::vector<std::string> fragments) {
    WriteText(files.folder / "s.yaml", sweep + table);
    CheckRefused(files.Run({"-o", "out"}), 2, fragments);
    CHECK_FALSE(fs::exists(files.folder / "out"));
  };
  refused("table: {titel: x}\n", {"s.yaml:9:9: ", "titel", "did you mean \"title\"?"});
  refused("table: agnets\n", {"s.yaml:9:8: ", "unknown layout \"agnets\"", "\"agents\"?"});
  refused("table: none.yaml\n", {"none.yaml"});
  refused("table: {columns: [{name: a, formula: b}]}\n", {"unknown column \"b\""});
}

TEST_CASE("results of `emplace run`, and what is refused") {
  const SweepFiles files;
  WriteText(files.folder / "r.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [heft, hill_climb]\nseeds: 0:3\n"
            "budget: {evaluations: 5, seconds: none}\n");
  REQUIRE(RunEmplace({"run", "r.yaml", "-o", "r.h5", "--quiet"}, {.folder = files.folder.path()})
              .exit_code == 0);
  const ProcessResult table = Table(files, {"r.h5"});
  CHECK(table.exit_code == 0);
  CheckHolds(table.out, "| graph  | cluster |");
  CheckHolds(table.out, "median over 3 seeds.\n");

  const auto refused = [&](std::vector<std::string> arguments, std::vector<std::string> fragments) {
    CheckRefused(Table(files, std::move(arguments)), 2, fragments);
  };
  refused({"r.h5", "r.h5"}, {"two runs have seed 0: r.h5: heft and r.h5: heft"});
  refused({"r.h5", "--claims"}, {"--claims: the layout has no claims"});
  refused({"r.h5", "--claims", "--format", "csv"},
          {"--claims: applies to the formats md and json, not to csv"});
  refused({"r.h5", "--format", "mdd"}, {"unknown format \"mdd\"; did you mean \"md\"?"});
  refused({"r.h5", "--layout", "agent"}, {"unknown layout \"agent\"; did you mean \"agents\"?"});
  refused({"r.h5", "--layout", "quick"}, {"unknown layout \"quick\""});
  refused({"r.h5", "--layout", "s.yaml"}, {"s.yaml", "is a sweep without the key table"});
  refused({"r.h5", "--set", "unti=ms"}, {"--set", "did you mean \"unit\"?"});
  refused({"r.h5", "--set", "unit"}, {"expected key=value"});
  refused({"none.h5"}, {"none.h5"});
  refused({"."}, {"holds no sweep.yaml"});
  refused({}, {"results is required"});
  WriteText(files.folder / "l.yaml", "columns: [{agent: hefd}]\n");
  const ProcessResult warned = Table(files, {"r.h5", "--layout", "l.yaml"});
  CHECK(warned.exit_code == 0);
  CheckHolds(warned.err, "no run has the agent \"hefd\"; did you mean \"heft\"?");
  CheckHolds(warned.out, "not run");
  CHECK(Table(files, {"r.h5", "-o", "none/t.md"}).exit_code == 1);
  CheckHolds(Table(files, {"--help-layout"}).out, "claims");
}

TEST_CASE("the example of --help-layout is a layout") {
  const SweepFiles files;
  const std::string help = Table(files, {"--help-layout"}).out;
  // The indented lines of the comment at the end.
  std::string example;
  std::istringstream lines(help.substr(help.find("# Example: mine.yaml")));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#   ")) example += line.substr(4) + "\n";
  }
  WriteText(files.folder / "mine.yaml", example);
  WriteText(files.folder / "r.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [single_gpu, hill_climb]\n"
            "budget: {evaluations: 50, seconds: none}\n");
  REQUIRE(RunEmplace({"run", "r.yaml", "-o", "r.h5", "--quiet"}, {.folder = files.folder.path()})
              .exit_code == 0);
  const ProcessResult table = Table(files, {"r.h5", "--layout", "./mine.yaml", "--claims"});
  CAPTURE(table.err);
  CHECK(table.exit_code == 0);
  CheckHolds(table.out, "Local search against one GPU");
  CheckHolds(table.out, "speed-up");
  CheckHolds(table.out, "search beats one GPU");
}

TEST_CASE("evaluations, seconds and hours are medians of a search, in every table") {
  const SweepFiles files;
  WriteText(files.folder / "r.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [heft, hill_climb]\nseeds: 0:3\n"
            "budget: {evaluations: 5, seconds: none}\n");
  const ProcessResult run = RunEmplace({"run", "r.yaml", "-o", "r.h5", "--quiet", "--json"},
                                       {.folder = files.folder.path()});
  REQUIRE(run.exit_code == 0);
  REQUIRE(
      RunEmplace({"report", "r.h5", "-o", "r.html", "--no-graph"}, {.folder = files.folder.path()})
          .exit_code == 0);
  const std::string page = ReadText(files.folder / "r.html"), begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  const auto report = nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  const auto table = nlohmann::json::parse(
      Table(files, {"r.h5", "--layout", "effort", "--format", "json"}).out)["rows"];
  const auto rows = nlohmann::json::parse(run.out)["agents"];

  // The same numbers by hand, from the file.
  const ResultsReader reader(files.folder / "r.h5");
  std::vector<double> seconds, hardware;
  for (const int seed : {0, 1, 2}) {
    const std::string group = fmt::format("/agents/hill_climb.seed{}", seed);
    CHECK(reader.Int(group, "evaluations") == 5);
    seconds.push_back(reader.Double(group, "seconds"));
    hardware.push_back(reader.Double(group, "hardware_seconds"));
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(hardware.begin(), hardware.end());
  for (const auto& agents : {rows, report["problems"][0]["agents"]}) {
    const auto climb = std::find_if(agents.begin(), agents.end(), [](const auto& agent) {
      return agent["agent"] == "hill_climb";
    });
    REQUIRE(climb != agents.end());
    CHECK((*climb)["evaluations"] == 5);  // not 15
    CHECK((*climb)["seconds"] == doctest::Approx(seconds[1]));
    CHECK((*climb)["hardware_seconds"] == doctest::Approx(hardware[1]));
    CHECK((*climb)["total_evaluations"] == 15);
    CHECK((*climb)["total_seconds"] == doctest::Approx(seconds[0] + seconds[1] + seconds[2]));
  }
  const auto climb = std::find_if(
      table.begin(), table.end(), [](const auto& row) { return row["heads"][2] == "hill_climb"; });
  REQUIRE(climb != table.end());
  const auto& cells = (*climb)["cells"];
  CHECK(cells["evaluations"]["median"] == 5);
  CHECK(cells["seconds"]["median"] == doctest::Approx(seconds[1]));
  CHECK(cells["hours"]["median"] == doctest::Approx(hardware[1] / 3600));
}

TEST_CASE("menus") {
  CheckHolds(RunEmplace({"list", "layouts"}).out, "\neffort      Cost of each search");
  const std::string sweeps = RunEmplace({"list", "sweeps"}).out;
  CheckHolds(sweeps, "mirhoseini2017 ");
  CheckHolds(sweeps, "\nsix_cells ");
  CheckRefused(RunEmplace({"sweep", "mirhoseini2107"}),
               2,
               {"unknown sweep \"mirhoseini2107\"; did you mean \"mirhoseini2017\"?"});
}

}  // namespace
