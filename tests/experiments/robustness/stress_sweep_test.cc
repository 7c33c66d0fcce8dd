// `emplace stress` of the folder of a sweep.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "experiments/run/candidate.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

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
      CheckRefused(sweep.Stress(option), 2, {"out: --graph", "--top", "not for a sweep"});
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
    CheckRefused(sweep.Stress(), 2, {"out: no run is done that found a placement that fits"});
  }
  SUBCASE("no sweep") {
    const StressedSweep sweep;
    CheckRefused(sweep.Program({"stress", "."}), 2, {"holds no sweep.yaml"});
  }
}

}  // namespace
