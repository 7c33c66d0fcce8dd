#include "experiments/table/table_runs.h"

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "experiments/run/run_problem.h"
#include "experiments/stress/stress_results.h"
#include "framework/results/results_file.h"
#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

// What `emplace run` writes of an agent, as far as tables read it.
void WriteAgent(ResultsFile& file,
                const std::string& label,
                std::int64_t seed,
                const std::string& status,
                std::int64_t step_time,
                bool feasible) {
  SearchRecord search{.agent = label,
                      .settings = "{}",
                      .uses_seed = true,
                      .seed = static_cast<std::uint64_t>(seed),
                      .evaluations = 7,
                      .seconds = 1.5,
                      .hardware_seconds = 60,
                      .status = status,
                      .error = status == "failed" ? "no memory" : ""};
  if (step_time != 0) {
    search.best.emplace();
    search.best->step_time = step_time;
    search.best->feasible = feasible;
  }
  WriteRecord(file, fmt::format("/agents/{}.seed{}", label, seed), search);
}

std::unique_ptr<ResultsFile> BeginFile(const fs::path& path, const std::string& graph) {
  auto file = std::make_unique<ResultsFile>(path);
  file->SetAttribute(
      "/config",
      "yaml",
      fmt::format("graph: {}\ncluster: c\nsemantics: queue\ncoarsen: [colocate, {{scope: {{depth: "
                  "1}}}}]\nbudget:\n  evaluations: 7\nagents: [rl]\nseeds: [0]\njobs: 1\n",
                  graph));
  ProblemId id;
  id[ProblemPart::kGraph] = FingerprintOf(graph);
  WriteProblemId(*file, id);
  for (const char* name : {"bound_ns", "critical_path_ns", "work_ns"}) {
    file->SetAttribute("/problem", name, std::int64_t{500});
  }
  file->SetAttribute("/problem", "bound_method", "critical_path");
  file->SetAttribute("/problem", "optimal", std::int64_t{0});
  file->SetAttribute("/problem", "semantics", "queue");
  file->SetAttribute("/problem", "objective", "step_time");
  return file;
}

std::string RunsRefusal(const fs::path& path) {
  return MessageOf<InputError>([&] { ReadResultRuns({path}); });
}

TEST_CASE("a file with several agents and seeds") {
  const TempDir folder;
  const auto file = BeginFile(folder / "r.h5", "nmt");
  WriteAgent(*file, "rl", 0, "finished", 1000, true);
  WriteAgent(*file, "rl", 1, "budget", 2000, false);
  WriteAgent(*file, "rl", 2, "stopped", 3000, true);
  WriteAgent(*file, "rl", 3, "failed", 0, false);
  WriteAgent(*file, "rl", 4, "finished", 0, false);
  file->Commit();
  const ResultRuns result = ReadResultRuns({folder / "r.h5"});
  REQUIRE(result.runs.size() == 5);
  CHECK_FALSE(result.layout);
  const ResultRun& run = result.runs[0];
  CHECK(run.agent == "rl");
  CHECK(run.progress == RunProgress::kDone);
  CHECK(run.best_ns == 1000);
  CHECK(run.evaluations == 7);
  CHECK(run.seconds == 1.5);
  CHECK(run.hardware_seconds == 60);
  CHECK(Holds(run.title, "r.h5: rl.seed0"));
  CHECK(*FindRunKey(run, "graph") == "nmt");
  CHECK(*FindRunKey(run, "coarsen") == "[colocate, {scope: {depth: 1}}]");
  CHECK(*FindRunKey(run, "budget.evaluations") == "7");
  CHECK(*FindRunKey(run, "agent") == "rl");
  CHECK(FindRunKey(run, "objective") == nullptr);
  CHECK(*FindRunKey(run, "priority") == "id");
  CHECK(FindRunKey(run, "jobs") == nullptr);
  CHECK(std::isinf(result.runs[1].best_ns));
  CHECK(result.runs[1].progress == RunProgress::kDone);
  CHECK(result.runs[2].progress == RunProgress::kStopped);
  CHECK(result.runs[3].progress == RunProgress::kFailed);
  CHECK(result.runs[3].error == "no memory");
  CHECK(result.runs[4].progress == RunProgress::kFailed);
  CHECK(result.runs[4].error == "evaluated no placement");
}

TEST_CASE("runs of one problem share the largest bound of their files") {
  const TempDir folder;
  const auto write = [&](const std::string& name, const std::string& graph, const auto& change) {
    const auto file = BeginFile(folder / name, graph);
    WriteAgent(*file, "rl", 0, "finished", 1000, true);
    change(*file);
    file->Commit();
  };
  write("weak.h5", "nmt", [](ResultsFile&) {});
  write("strong.h5", "nmt", [](ResultsFile& file) {
    file.SetAttribute("/problem", "bound_ns", std::int64_t{1000});
    file.SetAttribute("/problem", "bound_method", "certain");
  });
  write("other.h5", "rnnlm", [](ResultsFile&) {});
  write("stream.h5", "nmt", [](ResultsFile& file) {
    file.SetAttribute("/problem", "id_semantics", std::int64_t{1});
  });
  write("changed.h5", "nmt", [](ResultsFile& file) {
    file.SetAttribute("/problem", "id_costs", std::int64_t{1});
  });
  const ResultRuns result = ReadResultRuns({folder / "weak.h5",
                                            folder / "strong.h5",
                                            folder / "other.h5",
                                            folder / "stream.h5",
                                            folder / "changed.h5"});
  REQUIRE(result.runs.size() == 5);
  for (const int i : {0, 1}) {
    CHECK(result.runs[i].bound.value == 1000);
    CHECK(result.runs[i].bound.method == "certain");
    CHECK(result.runs[i].is_optimal());
  }
  for (const int i : {2, 3, 4}) {
    CHECK(result.runs[i].bound.value == 500);
    CHECK(result.runs[i].bound.method == "critical_path");
    CHECK_FALSE(result.runs[i].is_optimal());
    CHECK(std::isnan(result.runs[i].noise_regret));
  }
}

TEST_CASE("runs of one problem share the best step time of those that are done") {
  const TempDir folder;
  const auto write = [&](const std::string& name,
                         const std::string& graph,
                         const std::string& status,
                         std::int64_t step_time,
                         bool feasible) {
    const auto file = BeginFile(folder / name, graph);
    WriteAgent(*file, "rl", 0, status, step_time, feasible);
    file->Commit();
    return folder / name;
  };
  const ResultRuns result = ReadResultRuns({write("a.h5", "nmt", "budget", 1200, true),
                                            write("b.h5", "nmt", "finished", 1100, true),
                                            write("c.h5", "nmt", "stopped", 1000, true),
                                            write("d.h5", "nmt", "budget", 900, false),
                                            write("e.h5", "rnnlm", "budget", 700, false)});
  for (const int i : {0, 1, 2, 3}) CHECK(result.runs[i].best_known_ns == 1100);
  CHECK(result.runs[4].best_known_ns == kOom);
}

TEST_CASE("the best single device is read, if the file says it") {
  const TempDir folder;
  for (const char* name : {"now.h5", "earlier.h5"}) {
    const auto file = BeginFile(folder / name, "nmt");
    WriteAgent(*file, "rl", 0, "finished", 1000, true);
    if (std::string(name) == "now.h5") {
      file->SetAttribute("/problem", "best_single_device", "gpu:2");
      file->SetAttribute("/problem", "best_single_device_ns", std::int64_t{1500});
    }
    file->Commit();
  }
  const ResultRuns result = ReadResultRuns({folder / "now.h5", folder / "earlier.h5"});
  CHECK(result.runs[0].best_single_device_ns == 1500);
  CHECK(std::isnan(result.runs[1].best_single_device_ns));
}

TEST_CASE("what emplace stress found of an agent's best placement is that of all its seeds") {
  const TempDir folder;
  const auto file = BeginFile(folder / "r.h5", "nmt");
  WriteAgent(*file, "rl", 0, "finished", 1000, true);
  WriteAgent(*file, "rl", 1, "finished", 900, true);
  WriteAgent(*file, "walk", 0, "finished", 900, true);
  WriteAgent(*file, "late", 0, "finished", 2000, true);
  WriteRecord(
      *file, "/stress", StressResult{.labels = {"rl.seed1, walk.seed0"}, .noise_regret = {0.25}});
  file->Commit();
  for (const ResultRun& run : ReadResultRuns({folder / "r.h5"}).runs) {
    CAPTURE(run.agent);
    CHECK((run.agent == "late" ? std::isnan(run.noise_regret) : run.noise_regret == 0.25));
  }
}

TEST_CASE("what holds no runs") {
  const TempDir folder;
  CheckHolds(RunsRefusal(folder / "none.h5"), "none.h5");
  WriteText(folder / "text.h5", "nothing of ours");
  CheckHolds(RunsRefusal(folder / "text.h5"), "text.h5");
  BeginFile(folder / "empty.h5", "g")->Commit();
  CheckHolds(RunsRefusal(folder / "empty.h5"), "holds no run of an agent");
  const auto file = BeginFile(folder / "newer.h5", "g");
  file->SetAttribute("/", "version", kResultsVersion + 1);
  file->Commit();
  CheckHolds(RunsRefusal(folder / "newer.h5"), "version");
  CheckHolds(RunsRefusal(folder.path()), "holds no sweep.yaml; expected the folder of a sweep");
  WriteText(folder / "sweep.yaml", "format: other\n");
  CheckHolds(RunsRefusal(folder.path()), "sweep.yaml: is not a frozen sweep");
  WriteText(folder / "sweep.yaml", "format: emplace-sweep\nversion: 3\n");
  CheckHolds(RunsRefusal(folder.path()), "sweep.yaml:2:10: version: expected at most 2, got 3");
}

TEST_CASE("a sweep has its runs below its folder, whatever its file says") {
  const TempDir folder;
  fs::create_directory(folder / "sweep");
  BeginFile(folder / "x.h5", "nmt")->Commit();
  for (const std::string file : {"../x.h5", "runs/../../x.h5", "/etc/x.h5", "..", R"("")"}) {
    CAPTURE(file);
    WriteText(folder / "sweep/sweep.yaml",
              "format: emplace-sweep\nversion: 1\nname: s\nconfigs:\n  0: {graph: nmt}\nruns:\n"
              "  0: {file: " +
                  file + ", config: 0, agent: rl, seed: 0}\n");
    CheckHolds(RunsRefusal(folder / "sweep"),
               "sweep.yaml:7:13: runs.0.file: expected a file in the folder of the sweep, got");
  }
}

// Two runs of the sweep are on disk, one of them damaged; the third has not begun.
TEST_CASE("the folder of a sweep that is under way") {
  const TempDir folder;
  fs::create_directory(folder / "runs");
  WriteText(folder / "sweep.yaml",
            "format: emplace-sweep\nversion: 1\nname: s\n"
            "configs:\n  0: {graph: nmt, cluster: c}\n  1: {graph: rnnlm, cluster: c}\n"
            "runs:\n"
            "  0: {file: runs/0000.h5, config: 0, agent: rl, seed: 0}\n"
            "  1: {file: runs/0001.h5, config: 0, agent: rl, seed: 1}\n"
            "  2: {file: runs/0002.h5, config: 1, agent: rl, seed: 0}\n");
  {
    const auto file = BeginFile(folder / "runs/0000.h5", "nmt");
    file->SetAttribute("/config", "run", "#0 graph=nmt agent=rl seed=0");
    WriteAgent(*file, "rl", 0, "finished", 1000, true);
    file->Commit();
  }
  WriteText(folder / "runs/0001.h5", "");
  const auto before = fs::last_write_time(folder / "runs/0000.h5");
  ResultRuns result = ReadResultRuns({folder.path()});
  REQUIRE(result.runs.size() == 3);
  CHECK(result.runs[0].title == "#0 graph=nmt agent=rl seed=0");
  CHECK(result.runs[0].progress == RunProgress::kDone);
  CHECK(result.runs[1].progress == RunProgress::kFailed);
  CHECK(Holds(result.runs[1].error, "0001.h5"));
  CHECK(result.runs[2].progress == RunProgress::kNew);
  CHECK(*FindRunKey(result.runs[2], "graph") == "rnnlm");
  CHECK(result.runs[2].title == "#2 rl with seed 0");
  CHECK_FALSE(result.layout);
  WriteText(folder / "table.yaml", "{}");
  CHECK(ReadResultRuns({folder.path()}).layout == folder / "table.yaml");
  CHECK_FALSE(ReadResultRuns({folder.path(), folder / "runs/0000.h5"}).layout);
  CHECK(fs::last_write_time(folder / "runs/0000.h5") == before);
  CHECK_FALSE(fs::exists(folder / "lock"));

  // A file of another run.
  fs::remove(folder / "runs/0001.h5");
  fs::copy(folder / "runs/0000.h5", folder / "runs/0001.h5");
  CheckHolds(RunsRefusal(folder.path()),
             "holds agent rl with seed 0; expected rl with seed 1, as in the sweep");
  // A file of a newer version is not one that failed.
  const auto file = BeginFile(folder / "runs/0001.h5", "nmt");
  file->SetAttribute("/", "version", kResultsVersion + 1);
  file->Commit();
  CheckHolds(RunsRefusal(folder.path()), "0001.h5");
}

}  // namespace
