// `emplace stress`: what it prints, what it writes, and what it refuses.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "experiments/run/candidate.h"
#include "framework/base/json.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

struct StressFiles {
  TempDir folder;

  StressFiles() {
    WriteText(folder / "g.json", LayeredJson(40));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(
        folder / "small.yaml",
        "graph: g.json\ncluster: c.yaml\nseeds: 0:2\nbudget: {evaluations: 60, seconds: none}\n"
        "agents: [single_gpu, heft, random, hill_climb, {name: heft, label: twin}]\n");
    Search("r.h5");
  }
  fs::path file() const { return folder / "r.h5"; }
  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  void Search(const std::string& output, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"run", "small.yaml", "-o", output, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult run = Run(arguments);
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
  }
  ProcessResult Stress(std::vector<std::string> more, const std::string& results = "r.h5") const {
    std::vector<std::string> arguments = {
        "stress", results, "--draws", "12", "--steps", "15", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_CASE("the best placement of each agent, in the file and in JSON") {
  const StressFiles files;
  const auto agents = Hdf5Text(files.file(), "/agents");
  const ProcessResult result = files.Stress({"--format", "json", "--seed", "3"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err == "");
  CHECK(Hdf5Text(files.file(), "/agents") == agents);

  const Json json = Json::parse(result.out);
  const ResultsReader reader(files.file());
  const std::vector<std::string> labels = reader.Strings("/stress/labels");
  REQUIRE(labels.size() == 4);  // heft and twin found the same
  CHECK(std::count(labels.begin(), labels.end(), "heft, twin") == 1);
  CHECK(reader.Int("/stress", "seed") == 3);
  CHECK(reader.Double("/stress", "noise") == 0.1);
  const std::vector<std::int64_t> unchanged = reader.Ints("/stress/step_times_ns");
  CHECK(std::is_sorted(unchanged.begin(), unchanged.end()));
  for (size_t i = 0; i < labels.size(); ++i) {
    CAPTURE(labels[i]);
    CHECK(json["placements"][i]["label"] == labels[i]);
    CHECK(json["placements"][i]["step_time_ns"] == unchanged[i]);
    const std::string first = labels[i].substr(0, labels[i].find(','));
    CHECK(reader.Int("/agents/" + first + "/best/outcome", "step_time_ns") == unchanged[i]);
  }
  REQUIRE(json["scenarios"].size() == 3);
  for (const Json& scenario : json["scenarios"]) {
    const std::string name = scenario["name"], group = "/stress/scenarios/" + name;
    CAPTURE(name);
    const auto times = reader.IntMatrix(group + "/step_times_ns");
    CHECK(times.size() == (name == "noise" ? 12 : 1));
    CHECK(scenario["step_times_ns"] == Json(times));
    int kept = 0;
    for (const auto& draw : times) {
      kept += draw[0] == *std::min_element(draw.begin(), draw.end());
    }
    CHECK(reader.Double(group, "top_share") ==
          doctest::Approx(static_cast<double>(kept) / static_cast<double>(times.size())));
    CHECK(scenario["kendall_tau"] == reader.Double(group, "kendall_tau"));
  }
  CHECK(reader.HasAttribute("/stress/adversary", "epsilon"));
  CHECK(json["adversary"]["winner"] == labels[0]);
  CHECK(json["adversary"]["other"] == labels[1]);

  // Again: the same in the place of the earlier one, with any number of jobs; then another seed.
  const auto stress = [&] {
    std::vector<std::string> lines = Hdf5Text(files.file(), "/stress");
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("@date"); });
    return lines;
  };
  const auto before = stress();
  CHECK(files.Stress({"--format", "json", "--seed", "3", "--jobs", "1"}).out == result.out);
  CHECK(stress() == before);
  CHECK(files.Stress({"--format", "json", "--seed", "4"}).out != result.out);
}

TEST_CASE("tables and reports") {
  const StressFiles files;
  const ProcessResult before =
      files.Run({"table", "r.h5", "--layout", "robustness", "--format", "csv"});
  REQUIRE(before.exit_code == 0);
  CHECK(Contains(before.out, ",regret,regret under noise,percent,simulated,,not run,"));
  const ProcessResult result = files.Stress({"--top", "2"});
  REQUIRE(result.exit_code == 0);
  for (const char* part : {"| scenario ",
                           "Kendall's tau",
                           "| noise ",
                           "| semantics_stream ",
                           "| slow_links ",
                           "regret under noise",
                           "hill_climb.seed",
                           "Adversary: ",
                           "results  r.h5"}) {
    CAPTURE(part);
    CHECK(Contains(result.out, part));
  }
  const ProcessResult csv = files.Stress({"--top", "2", "--format", "csv"});
  CHECK(csv.out.starts_with("scenario,draw,placement,step_time_ns,regret\nunchanged,0,"));
  // Two placements: unchanged, 12 draws, two scenarios; and the head.
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 1 + 2 * (1 + 12 + 2));

  const ProcessResult table =
      files.Run({"table", "r.h5", "--layout", "robustness", "--format", "json"});
  REQUIRE(table.exit_code == 0);
  const ResultsReader reader(files.file());
  const std::vector<double> regret = reader.Doubles("/stress/noise_regret");
  int shown = 0;
  const Json shown_table = Json::parse(table.out);
  for (const Json& row : shown_table["rows"]) {
    const Json& cell = row["cells"]["regret"];
    if (cell["state"] != "number") continue;
    ++shown;
    CHECK(std::ranges::any_of(regret, [&](double share) {
      return cell["median"].get<double>() == doctest::Approx(100 * share);
    }));
  }
  CHECK(shown >= 2);

  const ProcessResult report = files.Run({"report", "r.h5", "--no-graph"});
  CAPTURE(report.err);
  REQUIRE(report.exit_code == 0);
  const std::string page = ReadText(files.folder / "r.html");
  CHECK(Contains(page, "\"regrets\":[["));
  CHECK(Contains(page, "\"bound_method\":"));
}

TEST_CASE("runs in stream semantics by upward rank, contracted ones, and periods") {
  const StressFiles files;
  files.Search("rank.h5", {"--set", "semantics=stream", "--set", "priority=upward_rank"});
  REQUIRE(files.Stress({}, "rank.h5").exit_code == 0);
  const ResultsReader rank(files.folder / "rank.h5");
  const std::string winner = rank.Strings("/stress/labels")[0];
  CHECK(
      rank.Ints("/stress/step_times_ns")[0] ==
      rank.Int("/agents/" + winner.substr(0, winner.find(',')) + "/best/outcome", "step_time_ns"));
  CHECK(rank.Has("/stress/scenarios/semantics_queue"));

  // A search that sets the issue order itself: its placement counts in this order.
  files.Search("order.h5",
               {"--set",
                "semantics=stream",
                "--set",
                "priority=searched",
                "--set",
                "agents=[order_search, heft]"});
  REQUIRE(files.Stress({}, "order.h5").exit_code == 0);
  const ResultsReader order(files.folder / "order.h5");
  const std::vector<std::string> labels = order.Strings("/stress/labels");
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string first = labels[i].substr(0, labels[i].find(','));
    CHECK(order.Ints("/stress/step_times_ns")[i] ==
          order.Int("/agents/" + first + "/best/outcome", "step_time_ns"));
  }

  files.Search("few.h5",
               {"--set",
                "simulate_groups=true",
                "--set",
                "coarsen=[colocate, {merge_cheapest: {groups: 8}}]"});
  CHECK(files.Stress({}, "few.h5").exit_code == 0);
  files.Search("period.h5", {"--set", "objective=period"});
  REQUIRE(files.Stress({}, "period.h5").exit_code == 0);
  const ResultsReader period(files.folder / "period.h5");
  CHECK(period.Children("/stress/scenarios") == std::vector<std::string>{"noise", "slow_links"});
}

TEST_CASE("wrong options are refused, and the file stays") {
  const StressFiles files;
  const std::string before = ReadText(files.file());
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& fragments) {
    CheckRefused(files.Stress(more), 2, fragments);
  };
  refused({"--format", "xml"}, {"--format: unknown format \"xml\"", "choices: md, csv, json"});
  refused({"--range", "1"}, {"--range: expected a share above 0 and below 1, got 1"});
  refused({"--range", "0"}, {"--range: expected a share above 0 and below 1, got 0"});
  refused({"--draws", "0"}, {"--draws", "expected a number > 0, got \"0\""});
  refused({"--noise", "-0.1"}, {"--noise", "expected a number >= 0, got \"-0.1\""});
  CHECK(ReadText(files.file()) == before);
}

struct StressedSweep {
  SweepFiles files{30};

  explicit StressedSweep(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"-o", "out", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult sweep = files.Run(arguments);
    CAPTURE(sweep.err);
    REQUIRE(sweep.exit_code == 0);
  }
  fs::path folder() const { return files.folder / "out"; }
  ProcessResult Program(const std::vector<std::string>& arguments) const {
    return RunEmplace(arguments, {.folder = files.folder.path()});
  }
  ProcessResult Stress(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "stress", "out", "--draws", "7", "--steps", "0", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Program(arguments);
  }
  std::vector<fs::path> RunFiles() const {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(folder() / "runs")) paths.push_back(entry);
    std::ranges::sort(paths);
    return paths;
  }
};

// Times of the placement that a search found, in each draw of noise.
std::vector<std::int64_t> TimesUnderNoise(const ResultsReader& reader, const std::string& search) {
  const std::vector<std::string> labels = reader.Strings("/stress/labels");
  std::vector<std::int64_t> times;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::vector<std::string> names = SplitLabels(labels[i]);
    if (std::ranges::find(names, search) == names.end()) continue;
    for (const auto& draw : reader.IntMatrix("/stress/scenarios/noise/step_times_ns")) {
      times.push_back(draw.at(i));
    }
  }
  return times;
}

TEST_CASE("all runs of a problem see the same draws, and all their files say the same") {
  const StressedSweep sweep;
  const ProcessResult result = sweep.Stress();
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(Contains(result.out, "| problem "));
  CHECK(Contains(result.out, " on "));
  CHECK(std::ranges::count(result.out, '\n') == 2 + 2 + 2);  // head, two problems, where it is

  const std::vector<fs::path> files = sweep.RunFiles();
  REQUIRE(files.size() == SweepFiles::kRuns);
  for (size_t first : {0, SweepFiles::kRuns / 2}) {  // a graph after the other
    const ResultsReader whole(files[first]);
    std::set<std::string> searches;
    for (const std::string& label : whole.Strings("/stress/labels")) {
      for (const std::string& search : SplitLabels(label)) searches.insert(search);
    }
    CHECK(searches ==
          std::set<std::string>{
              "heft", "hill_climb.seed0", "hill_climb.seed1", "seq2seq.seed0", "seq2seq.seed1"});
    CHECK_FALSE(whole.Has("/stress/adversary"));
    for (size_t i = first; i < first + SweepFiles::kRuns / 2; ++i) {
      const ResultsReader reader(files[i]);
      CHECK(Hdf5Text(files[i], "/stress") == Hdf5Text(files[first], "/stress"));
      const std::string search = reader.Children("/agents").at(0);
      CHECK(TimesUnderNoise(whole, search).size() == 7);
      CHECK(std::ranges::count(whole.Ints("/stress/step_times_ns"),
                               reader.Int("/agents/" + search + "/best/outcome", "step_time_ns")) >=
            1);
    }
  }
  // The draws are those of `emplace stress` of a single file.
  const ProcessResult one =
      sweep.Program({"stress", files[1].string(), "--draws", "7", "--steps", "0", "--quiet"});
  REQUIRE(one.exit_code == 0);
  const std::string search = ResultsReader(files[1]).Children("/agents").at(0);
  CHECK(TimesUnderNoise(ResultsReader(files[1]), search) ==
        TimesUnderNoise(ResultsReader(files[0]), search));
}

TEST_CASE("tables and reports of a stressed sweep; it is still done") {
  const StressedSweep sweep;
  REQUIRE(sweep.Stress().exit_code == 0);
  const ProcessResult table =
      sweep.Program({"table", "out", "--layout", "robustness", "--format", "csv"});
  REQUIRE(table.exit_code == 0);
  CHECK(std::ranges::count(table.out, '\n') == 1 + 2 * 3 * 2);  // two columns
  CHECK_FALSE(Contains(table.out, "not run"));
  const ProcessResult report = sweep.Program({"report", "out", "--no-graph", "-o", "r.html"});
  CHECK(report.exit_code == 0);
  CHECK(Contains(ReadText(sweep.files.folder / "r.html"), "\"regrets\":[["));
  const ProcessResult again = sweep.files.Run({"-o", "out", "--resume", "--quiet"});
  CHECK(again.exit_code == 0);
  CHECK(ResultsReader(sweep.RunFiles()[0]).Has("/stress"));
}

TEST_CASE("what of a sweep cannot be stressed") {
  SUBCASE("options of a single file") {
    const StressedSweep sweep;
    for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
             {"--top", "3"}, {"--format", "json"}, {"--graph", "g.json"}}) {
      CheckRefused(sweep.Stress(option), 2, {"out: --graph", "--top", "not to a sweep"});
    }
  }
  SUBCASE("a run for each of two budgets") {
    const StressedSweep sweep({"--set", "grid.budget.evaluations=[10, 20]"});
    CheckRefused(sweep.Stress(), 2, {"runs of the same agent, seed and problem", "#0", "#5"});
    CHECK_FALSE(ResultsReader(sweep.RunFiles()[0]).Has("/stress"));
  }
  SUBCASE("nothing is done") {
    const StressedSweep sweep;
    for (const fs::path& file : sweep.RunFiles()) fs::remove(file);
    CheckRefused(sweep.Stress(), 2, {"out: no finished run found a placement that fits"});
  }
  SUBCASE("no sweep") {
    const StressedSweep sweep;
    CheckRefused(sweep.Program({"stress", "."}), 2, {"holds no sweep.yaml"});
  }
}

}  // namespace
