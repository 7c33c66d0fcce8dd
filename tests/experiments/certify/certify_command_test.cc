// `emplace certify`: bounds that get better and never worse, shared by the files of a problem, and
// what it refuses.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "experiments/run/run_bound.h"
#include "experiments/table/table_runs.h"
#include "framework/base/json.h"
#include "framework/bounds/lower_bound.h"
#include "framework/results/results_file.h"
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

void SetBound(const fs::path& path, std::int64_t bound, const std::string& method) {
  ResultsFile file(path, ResultsMode::kExtend);
  file.SetAttribute("/problem", "bound_ns", bound);
  file.SetAttribute("/problem", "bound_method", method);
  file.Commit();
}

std::int64_t BestIn(const fs::path& path) {
  return std::llround(ReadResultRuns({path}).runs[0].best_known_ns);
}

// Runs the program and returns its standard output.
std::string OutputIn(const TempDir& folder, const std::vector<std::string>& arguments) {
  const ProcessResult result = RunEmplace(arguments, {.folder = folder.path()});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return result.out;
}

struct CertifyFiles {
  TempDir folder;
  std::int64_t bound = 0, best = 0;  // of the run
  std::string method;

  CertifyFiles() {
    WriteText(folder / "g.json", LayeredJson(40));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "small.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: [single_gpu, heft, hill_climb]\n"
              "budget: {evaluations: 50, seconds: none}\n");
    const ProcessResult run = Run({"run", "small.yaml", "-o", "r.h5", "--quiet"});
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const ResultsReader reader(file());
    bound = reader.Int("/problem", "bound_ns");
    method = reader.Text("/problem", "bound_method");
    best = BestIn(file());
    REQUIRE(bound < best);
  }
  fs::path file() const { return folder / "r.h5"; }
  ProcessResult Run(const std::vector<std::string>& arguments) const {
    return RunEmplace(arguments, {.folder = folder.path()});
  }
  ProcessResult Certify(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"certify", "r.h5", "--seconds", "0", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_CASE("a lesser bound in the file is replaced, a better one stays") {
  const CertifyFiles files;
  const auto agents = Hdf5Text(files.file(), "/agents");
  SetBound(files.file(), 1000, "guess");
  ProcessResult result = files.Certify({"--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err == "");
  Json problem = Json::parse(result.out).at(0);
  CHECK(problem["problem"] == "g.json on c.yaml");
  CHECK(problem["files"] == Json{"r.h5"});
  CHECK(problem["best_ns"] == files.best);
  CHECK(problem["before"]["bound_ns"] == 1000);
  CHECK(problem["before"]["method"] == "guess");
  CHECK(problem["after"]["bound_ns"] == files.bound);
  CHECK(problem["after"]["method"] == files.method);
  CHECK(problem["after"]["gap"].get<double>() ==
        doctest::Approx(static_cast<double>(files.best) / files.bound - 1));
  CHECK(problem["after"]["optimal"] == false);
  {
    const ResultsReader reader(files.file());
    CHECK(ReadBound(reader).value == files.bound);
    CHECK(ReadBound(reader).method == files.method);
    CHECK(reader.Int("/problem", "optimal") == 0);
  }

  // A bound that no method of ours may reach; and one that is as good as the best placement.
  SetBound(files.file(), files.best - 1, "oracle");
  CHECK(files.Certify({}).exit_code == 0);
  CHECK(ReadBound(ResultsReader(files.file())).value >= files.best - 1);
  SetBound(files.file(), files.best, "oracle");
  result = files.Run({"certify", "r.h5", "--seconds", "1000", "--quiet"});  // nothing to do
  REQUIRE(result.exit_code == 0);
  for (const char* part : {"problem", "bound was", "g.json on c.yaml", "optimal", "oracle"}) {
    CAPTURE(part);
    CHECK(Contains(result.out, part));
  }
  const ResultsReader reader(files.file());
  CHECK(ReadBound(reader).method == "oracle");
  CHECK(reader.Int("/problem", "optimal") == 1);
  CHECK(Hdf5Text(files.file(), "/agents") == agents);

  // Other commands show it.
  const ProcessResult table = files.Run({"table", "r.h5", "--layout", "proof", "--format", "json"});
  CAPTURE(table.err);
  REQUIRE(table.exit_code == 0);
  int optimal = 0;
  const Json shown = Json::parse(table.out);
  for (const Json& row : shown["rows"]) {
    const Json& cells = row["cells"];
    CHECK(cells["bound"]["median"].get<double>() == doctest::Approx(1e-6 * files.best));
    CHECK((cells["gap"]["median"] == 0) == (cells["optimal"]["median"] == 1));
    optimal += cells["optimal"]["median"] == 1;
  }
  CHECK(optimal >= 1);
}

TEST_CASE("12 ops are decided in a moment by branch and bound, and the command says so") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(12));
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [hill_climb]\n"
            "budget: {evaluations: 3000, seconds: none}\n");
  const auto run = [&](const std::vector<std::string>& arguments) {
    return OutputIn(folder, arguments);
  };
  for (const char* semantics : {"queue", "stream"}) {
    CAPTURE(semantics);
    const std::string setting = std::string("semantics=") + semantics;
    const auto search = [&](const char* output, std::vector<std::string> more) {
      std::vector<std::string> arguments = {
          "run", "run.yaml", "-o", output, "--force", "--json", "--quiet", "--set", setting};
      for (const std::string& one : more) arguments.insert(arguments.end(), {"--set", one});
      return Json::parse(run(arguments));
    };
    search("r.h5", {});
    const Json proved = search(
        "proved.h5", {"agents=[branch_and_bound]", "budget.evaluations=none", "budget.seconds=60"});
    REQUIRE(proved["optimal"] == true);
    const auto optimum = proved["agents"][0]["step_time_ns"]["min"].get<std::int64_t>();
    const Json certified =
        Json::parse(run({"certify", "r.h5", "--seconds", "60", "--quiet", "--json"})).at(0);
    CHECK(certified["before"]["bound_ns"] < optimum);  // what the other methods prove
    CHECK(certified["after"]["bound_ns"] == optimum);
    CHECK(certified["after"]["method"] == "branch_and_bound");
    CHECK(certified["after"]["optimal"] == true);
    CHECK(certified["found_ns"] == nullptr);
    CHECK(certified["ended"] == "the best placement is proved optimal by branch_and_bound");
    CHECK(ReadBound(ResultsReader(folder / "r.h5")).value == optimum);
    CHECK(Contains(run({"certify", "r.h5", "--quiet"}),
                   "g.json on c.yaml: an earlier run proved the best placement optimal, by "
                   "branch_and_bound\n"));

    // One that is not optimal keeps its gap, and the better one is named.
    search("worse.h5", {"agents=[single_cpu]"});
    const Json worse =
        Json::parse(run({"certify", "worse.h5", "--seconds", "60", "--quiet", "--json"})).at(0);
    CHECK(worse["after"]["bound_ns"] == optimum);
    CHECK(worse["after"]["optimal"] == false);
    CHECK(worse["found_ns"] == optimum);
    CHECK(worse["found_by"] == "branch_and_bound");
    CHECK(Contains(run({"certify", "worse.h5", "--seconds", "60", "--quiet"}),
                   "g.json on c.yaml: the proof found a placement of "));
  }
}

TEST_CASE("the proof of a period finds the best placement, and names the agent that finds it") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(60));
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml",
            "graph: g.json\ncluster: c.yaml\nobjective: period\nagents: [single_cpu]\n"
            "budget: {evaluations: 3, seconds: none}\n");
  OutputIn(folder, {"run", "run.yaml", "-o", "r.h5", "--quiet"});
  const Json certified =
      Json::parse(OutputIn(folder, {"certify", "r.h5", "--seconds", "20", "--quiet", "--json"}))
          .at(0);
  CHECK(certified["found_ns"] < certified["best_ns"]);
  CHECK(certified["found_ns"] == certified["after"]["bound_ns"]);
  CHECK(certified["found_by"] == "period_mip");
  CHECK(Contains(certified["ended"].get<std::string>(), "(proved by device_sets)"));
}

TEST_CASE("files of one problem in different orders do not share a bound") {
  const CertifyFiles files;
  const auto run = [&](const std::string& order, const std::string& output) {
    fs::copy_file(
        files.folder / order, files.folder / "order.json", fs::copy_options::overwrite_existing);
    const ProcessResult result = files.Run({"run",
                                            "small.yaml",
                                            "-o",
                                            output,
                                            "--quiet",
                                            "--set",
                                            "semantics=stream",
                                            "--set",
                                            "priority=given",
                                            "--set",
                                            "issue_order=order.json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
  };
  // By upward rank, and by id: the file holds every op in the order of the graph.
  REQUIRE(files
              .Run({"run",
                    "small.yaml",
                    "-o",
                    "rank.h5",
                    "--quiet",
                    "--set",
                    "semantics=stream",
                    "--set",
                    "priority=upward_rank"})
              .exit_code == 0);
  Json by_id = Json::parse(ReadText(files.folder / "rank.placement.json"));
  Json order = Json::array();
  for (int v = 0; v < 40; ++v) order.push_back("op" + std::to_string(v));
  REQUIRE(by_id["issue_order"] != order);
  by_id["issue_order"] = order;
  WriteText(files.folder / "by_id.json", by_id.dump());
  run("rank.placement.json", "a.h5");
  run("by_id.json", "b.h5");
  const ProcessResult result =
      files.Run({"certify", "a.h5", "b.h5", "--seconds", "0", "--quiet", "--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(Json::parse(result.out).size() == 2);
}

TEST_CASE("a second certify goes on from the first") {
  const CertifyFiles files;
  const auto certify = [&](const std::string& seconds) {
    const ProcessResult result =
        files.Run({"certify", "r.h5", "--seconds", seconds, "--quiet", "--json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out).at(0);
  };
  const Json first = certify("1");
  CHECK(first["before"]["bound_ns"] == files.bound);
  CHECK(first["after"]["bound_ns"] >= files.bound);
  for (const char* seconds : {"0", "0.2"}) {
    const Json second = certify(seconds);
    CHECK(second["before"] == first["after"]);
    CHECK(second["after"]["bound_ns"] >= first["after"]["bound_ns"]);
  }
}

TEST_CASE("progress tells bound and gap") {
  const CertifyFiles files;
  const ProcessResult result = files.Run({"certify", "r.h5", "--seconds", "0"});
  CHECK(result.exit_code == 0);
  CHECK(Contains(result.err, "certifying g.json on c.yaml"));
  CHECK(Contains(result.err, ", gap "));
}

TEST_CASE("the runs of a sweep share the bounds of their problems") {
  const SweepFiles files(20);
  REQUIRE(files.Run({"-o", "out", "--quiet"}).exit_code == 0);
  const fs::path runs = files.folder / "out/runs";
  std::map<std::string, std::int64_t> best;  // by graph
  std::map<fs::path, std::string> graph_of;
  for (const auto& entry : fs::directory_iterator(runs)) {
    const ResultsReader reader(entry.path());
    const std::string graph = fs::path(reader.Text("/config", "graph_path")).filename();
    graph_of[entry.path()] = graph;
    const std::int64_t time = BestIn(entry.path());
    best[graph] = best.contains(graph) ? std::min(best[graph], time) : time;
  }
  REQUIRE(best.size() == 2);
  for (const auto& [path, graph] : graph_of) {
    if (graph != "g.json") continue;
    SetBound(path, best["g.json"] - 1, "oracle");
    break;
  }
  const auto certify = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"certify", "out", "--seconds", "0", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunEmplace(arguments, {.folder = files.folder.path()});
  };
  const ProcessResult result = certify({"--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const Json problems = Json::parse(result.out);
  REQUIRE(problems.size() == 2);
  for (const Json& problem : problems) CHECK(problem["files"].size() == SweepFiles::kRuns / 2);
  for (const auto& [path, graph] : graph_of) {
    CAPTURE(path.string());
    const LowerBound bound = ReadBound(ResultsReader(path));
    if (graph == "g.json") {
      CHECK(bound.value >= best[graph] - 1);
    } else {
      CHECK(bound.method != "oracle");
      CHECK(bound.value <= best[graph]);
    }
  }
  // A better bound is no other sweep.
  const ProcessResult again = files.Run({"-o", "out", "--resume", "--quiet"});
  CAPTURE(again.err);
  CHECK(again.exit_code == 0);

  const fs::path damaged = graph_of.begin()->first;
  const std::string bytes = ReadText(damaged);
  WriteText(damaged, bytes.substr(0, bytes.size() / 2));
  const ProcessResult without = certify({});
  CAPTURE(without.err);
  CHECK(without.exit_code == 0);
  CHECK(Contains(without.err, damaged.filename().string()));
  CHECK(Contains(without.err, "; left out"));
  WriteText(damaged, bytes);

  CheckRefused(certify({"--graph", "g.json"}),
               2,
               {"--graph, --cluster and --costs name the files of one problem, but the results "
                "hold 2: g.json on c.yaml, h.json on c.yaml"});
  const int lock = open((files.folder / "out/lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
  WriteText(files.folder / "out/lock", "process 7 on elsewhere");
  CheckRefused(certify({}), 2, {"out: another emplace is running in it (process 7 on elsewhere)"});
  const std::string run = fs::relative(damaged, files.folder.path());
  for (const char* command : {"certify", "stress", "verify"}) {
    CheckRefused(RunEmplace({command, run, "--quiet"}, {.folder = files.folder.path()}),
                 2,
                 {"out: another emplace is running in it (process 7 on elsewhere)"});
  }
  close(lock);
}

TEST_CASE("what cannot be certified is refused, and the file stays") {
  const CertifyFiles files;
  std::string before;
  const auto refused = [&](int code, std::vector<std::string> fragments) {
    before = ReadText(files.file());
    fragments.emplace_back("r.h5");
    CheckRefused(files.Certify({}), code, fragments);
    CHECK(ReadText(files.file()) == before);
  };
  SUBCASE("its graph has other ops") {
    WriteText(files.folder / "g.json", LayeredJson(41));
    refused(2, {"was made with another version of graph \"small\": op 40 was none"});
  }
  SUBCASE("a bound above the best placement") {
    SetBound(files.file(), files.best + 1, "magic");
    refused(1, {"its best placement takes", "less than the lower bound", "by magic"});
  }
}

TEST_CASE("results that are not there") {
  const TempDir folder;
  CheckRefused(RunEmplace({"certify", "none.h5"}, {.folder = folder.path()}), 2, {"none.h5"});
  CheckRefused(RunEmplace({"certify"}, {.folder = folder.path()}), 2, {"results is required"});
  CheckRefused(RunEmplace({"certify", "none.h5", "--seconds", "-1"}, {.folder = folder.path()}),
               2,
               {"--seconds", "expected a number >= 0, got \"-1\""});
}

}  // namespace
