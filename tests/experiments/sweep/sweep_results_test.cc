#include "experiments/sweep/sweep_results.h"

#include <csignal>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "agents/registry.h"
#include "experiments/run/run_results.h"
#include "experiments/sweep/process_pool.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Fixture {
  TempDir folder;
  SweepPlan plan;
  SweepProblems problems;

  Fixture() {
    WriteText(folder / "g.json", LayeredJson(12));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "s.yaml",
              "base: {graph: g.json, cluster: c.yaml, seeds: [3], agents: [hill_climb, seq2seq],\n"
              "       budget: {evaluations: 150, seconds: none}}\n");
    plan = ReadSweepPlan(folder / "s.yaml", {}, AllAgents());
    problems = LoadSweepProblems(plan);
  }
  SweepTask Task(int run, const std::string& file) const {
    return {PlanOfRun(plan, plan.runs[run]),
            &problems.problems[0],
            "#" + std::to_string(run),
            folder / file,
            {.version = "1", .commit = "a", .host = "here"}};
  }
};

// The file of a run that was killed after its second step, 5000 s after it had begun.
SearchResult WriteCheckpoint(const SweepTask& task) {
  SearchResult last;
  const Observers checkpoints{0, [&](const SearchResult& result) {
                                if (last.steps == 2) throw std::runtime_error("enough");
                                last = result;
                              }};
  const SweepProblem& problem = *task.problem;
  RunSearch(problem.problem.searched,
            task.plan.simulator,
            task.plan.agents[0],
            task.plan.seeds[0],
            task.plan.budget,
            nullptr,
            checkpoints);
  last.seconds = 5000;
  ResultsFile file(task.path);
  WriteRunHeader(file, task.plan, problem.problem, problem.bounds, task.provenance);
  WriteSearch(file, problem.problem, task.plan.agents[0], 11, last);
  file.Commit();
  return last;
}

TEST_CASE("every checkpoint of a search leads to the result of the undisturbed one") {
  const Fixture fixture;
  for (const int run : {0, 1}) {
    const SweepTask whole = fixture.Task(run, "whole.h5"), cut = fixture.Task(run, "cut.h5");
    CAPTURE(whole.label());
    CHECK(ReadRunState(whole.path, whole.label()).progress == RunProgress::kNew);
    RunSweepTask(whole, 1e9);
    const ResultRun done = ReadRunState(whole.path, whole.label());
    CHECK(done.progress == RunProgress::kDone);
    CHECK(done.evaluations == 150);
    REQUIRE(done.best);

    // Stops after each number of steps by failing to write the checkpoint behind it.
    const RunPlan& plan = cut.plan;
    for (int steps = 1; steps <= 2; ++steps) {
      SearchResult last;
      int written = 0;
      const Observers checkpoints{0, [&](const SearchResult& result) {
                                    if (written++ == steps) throw std::runtime_error("enough");
                                    last = result;
                                  }};
      const auto& problem = fixture.problems.problems[0];
      const SearchResult failed = RunSearch(problem.problem.searched,
                                            plan.simulator,
                                            plan.agents[0],
                                            plan.seeds[0],
                                            plan.budget,
                                            nullptr,
                                            checkpoints);
      CHECK(failed.error == "enough");
      CHECK(last.status == SearchStatus::kStopped);
      const SearchResult resumed = RunSearch(problem.problem.searched,
                                             plan.simulator,
                                             plan.agents[0],
                                             plan.seeds[0],
                                             plan.budget,
                                             &last);
      CHECK(resumed.records.size() == 150);
      CHECK(resumed.best->outcome.step_time == done.best->step_time);
    }

    // Checkpoints after every step change nothing.
    RunSweepTask(cut, 0);
    CHECK(Hdf5Text(cut.path, "/agents") == Hdf5Text(whole.path, "/agents"));
    CHECK(Hdf5Text(cut.path, "/problem") == Hdf5Text(whole.path, "/problem"));
    const ResultsReader reader(cut.path);
    CHECK(reader.Text("/config", "sweep") == "s");
    CHECK(reader.Text("/config", "run") == cut.title);
    CHECK(reader.Text("/config", "yaml") == cut.plan.ResolvedYaml());
    CHECK(reader.Text("/config", "host") == "here");
    std::filesystem::remove(whole.path);
    std::filesystem::remove(cut.path);
  }
}

TEST_CASE("a run goes on from the checkpoint in its file") {
  const Fixture fixture;
  const SweepTask whole = fixture.Task(1, "whole.h5");
  SweepTask cut = fixture.Task(1, "cut.h5");
  RunSweepTask(whole, 1e9);
  const SearchResult last = WriteCheckpoint(cut);
  const ResultRun state = ReadRunState(cut.path, cut.label());
  CHECK(state.progress == RunProgress::kStopped);
  CHECK(state.evaluations == std::ssize(last.records));
  CHECK(state.program == "1 (commit a)");
  cut.provenance.commit = "b";
  RunSweepTask(cut, 0);  // with checkpoints, which must not add to this
  CHECK(ResultsReader(cut.path).Text("/config", "commit") == "b");
  CHECK(ResultsReader(cut.path).Text("/config", "earlier_programs") == "1 (commit a)");
  CHECK_FALSE(ResultsReader(whole.path).HasAttribute("/config", "earlier_programs"));
  CHECK(Hdf5Text(cut.path, "/agents") == Hdf5Text(whole.path, "/agents"));
  CHECK(ReadRunState(cut.path, cut.label()).seconds >= 5000);  // both parts
}

TEST_CASE("a disk that fills up leaves the last checkpoint") {
  const Fixture fixture;
  for (const int run : {0, 1}) {
    const SweepTask whole = fixture.Task(run, "whole.h5"), cut = fixture.Task(run, "cut.h5");
    RunSweepTask(whole, 1e9);
    WriteCheckpoint(cut);
    // In a process of its own, no file can grow by more than what a few steps need.
    const auto fill = [&](int) {
      const rlimit limit{std::filesystem::file_size(cut.path) + 2500, RLIM_INFINITY};
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &limit);
      RunSweepTask(cut, 0);
    };
    WorkerEnd end;
    ProcessPool pool(fill, [&](const WorkerEnd& told) { end = told; });
    REQUIRE(pool.Begin(0).empty());
    while (pool.size() > 0) pool.Wait();
    CAPTURE(end.error);
    CHECK(end.error.find("cut.h5: cannot be written: File too large") != std::string::npos);
    const ResultRun state = ReadRunState(cut.path, cut.label());
    CHECK(state.progress == RunProgress::kStopped);
    CHECK(state.evaluations > 0);
    RunSweepTask(cut, 1e9);
    CHECK(Hdf5Text(cut.path, "/agents") == Hdf5Text(whole.path, "/agents"));
    std::filesystem::remove(whole.path);
    std::filesystem::remove(cut.path);
  }
}

TEST_CASE("a failure leaves a checkpoint where it is") {
  const Fixture fixture;
  const SweepTask task = fixture.Task(0, "r.h5");
  WriteFailure(task, "killed by signal 9 (Killed)");
  ResultRun state = ReadRunState(task.path, task.label());
  CHECK(state.progress == RunProgress::kFailed);
  CHECK(state.error == "killed by signal 9 (Killed)");

  RunSweepTask(task, 1e9);  // what failed begins anew
  {
    ResultsFile file(task.path, ResultsMode::kExtend);
    file.SetAttribute("/agents/" + task.label(), "status", "stopped");
    file.WriteStrings("/agents/" + task.label() + "/checkpoint", {"state"});
    file.Commit();
  }
  CHECK(ReadRunState(task.path, task.label()).progress == RunProgress::kStopped);
  WriteFailure(task, "killed");
  state = ReadRunState(task.path, task.label());
  CHECK(state.progress == RunProgress::kStopped);
  CHECK(state.error == "killed");
  CHECK(ResultsReader(task.path).Strings("/agents/" + task.label() + "/checkpoint")[0] == "state");
}

}  // namespace
