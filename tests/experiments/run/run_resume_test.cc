#include "experiments/run/run_resume.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// A run in a folder of its own. The budget counts evaluations only: what a search finds then does
// not depend on when it is stopped.
struct ResumeFiles {
  TempDir folder;
  int evaluations = 0;

  explicit ResumeFiles(int budget = 200) : evaluations(budget) {
    WriteText(folder / "g.json", LayeredJson(60));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(
        folder / "run.yaml",
        "graph: g.json\ncluster: c.yaml\n"
        "agents: [heft, {name: hill_climb, batch: 3}, simulated_annealing, seq2seq, hierarchical]\n"
        "seeds: 0:2\n"
        "jobs: 1\n");
  }
  ProcessResult Run(std::vector<std::string> more, ProcessOptions options = {}) const {
    std::vector<std::string> arguments = {
        "run",
        "run.yaml",
        "--set",
        fmt::format("budget={{evaluations: {}, seconds: none}}", evaluations)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    options.folder = folder.path();
    return RunEmplace(arguments, options);
  }
};

TEST_CASE("a search stopped after any step and resumed equals the uninterrupted one") {
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (!entry.uses_seed) continue;
    CAPTURE(entry.name);
    const auto problem = LayeredProblem(20, entry.objective.value_or(Objective::kStepTime));
    // The last batch does not fit in. Those of one objective do much between two evaluations.
    const Budget budget{.evaluations = entry.objective.has_value() ? 13 : 203};
    const AgentSpec spec{entry.name, &entry, ConfigNode::FromString("{}", "test")};
    const SearchResult whole = RunSearch(problem, {}, spec, 3, budget);
    REQUIRE(whole.status == SearchStatus::kBudget);
    REQUIRE(std::ssize(whole.records) == budget.evaluations);
    for (const std::int64_t steps : {std::int64_t{0}, std::int64_t{1}, whole.steps / 2}) {
      SearchResult part =
          RunSearch(problem, {}, spec, 3, {.evaluations = budget.evaluations, .steps = steps});
      // The agent as it was then: the same steps again.
      const auto agent = entry.make({problem, 3}, spec.settings);
      const auto simulator = MakeSimulator(problem, {});
      MeteredEvaluator meter(*simulator, budget);
      for (std::int64_t step = 0; step < steps; ++step) agent->Step(meter);
      std::ostringstream saved;
      agent->Save(saved);
      part.checkpoint = saved.str();

      const SearchResult resumed = RunSearch(problem, {}, spec, 3, budget, &part);
      CHECK(resumed.error == "");
      CHECK(resumed.status == whole.status);
      CHECK(resumed.steps == whole.steps);
      REQUIRE(resumed.records.size() == whole.records.size());
      for (size_t i = 0; i < whole.records.size(); ++i) {
        CHECK(resumed.records[i].step_time == whole.records[i].step_time);
        CHECK(resumed.records[i].best_step_time == whole.records[i].best_step_time);
      }
      CHECK(resumed.best->placement == whole.best->placement);
      CHECK(resumed.best->index == whole.best->index);
      CHECK(resumed.updates.columns == whole.updates.columns);
      // Bits, not numbers: a table may hold NaN.
      CHECK(std::equal(resumed.updates.values.begin(),
                       resumed.updates.values.end(),
                       whole.updates.values.begin(),
                       whole.updates.values.end(),
                       [](double a, double b) {
                         return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
                       }));
    }
  }
}

TEST_CASE("steps and seconds of both parts count towards the budget") {
  const AgentEntry& entry = AllAgents().Find("hill_climb", "test");
  const AgentSpec spec{entry.name, &entry, ConfigNode::FromString("{}", "test")};
  const auto problem = LayeredProblem(20);
  std::ostringstream saved;
  entry.make({problem, 0}, spec.settings)->Save(saved);
  SearchResult part;
  part.checkpoint = saved.str();
  part.steps = 2;
  part.seconds = 100;
  const SearchResult resumed = RunSearch(problem, {}, spec, 0, {.steps = 5}, &part);
  CHECK(resumed.steps == 5);
  CHECK(resumed.seconds >= 100);
  const SearchResult late = RunSearch(problem, {}, spec, 0, {.seconds = 100}, &part);
  CHECK(late.status == SearchStatus::kBudget);
  CHECK(late.records.empty());
}

TEST_CASE("ctrl-C in the middle, then --resume: the same file as without") {
  ResumeFiles files;
  // The interrupt needs a search to meet: a larger budget if all had ended before it came.
  ProcessResult stopped;
  for (; files.evaluations < 10'000'000; files.evaluations *= 2) {
    stopped = files.Run({"-o", "cut.h5"}, {.interrupt_when = "#1 hill_climb.seed0"});
    if (stopped.exit_code != 0) break;
  }
  REQUIRE(stopped.exit_code == 1);
  CHECK(stopped.err.find("--resume continues from there") != std::string::npos);
  const auto cut = Hdf5Text(files.folder / "cut.h5", "/agents");

  REQUIRE(files.Run({"-o", "whole.h5", "--quiet"}).exit_code == 0);
  // Stopped once more, unless the rest was too quick for that.
  files.Run({"-o", "cut.h5", "--resume"}, {.interrupt_when = "#1 hill_climb.seed0"});
  // Other jobs and threads and another name change nothing that was searched.
  const ProcessResult resumed =
      files.Run({"-o", "cut.h5", "--resume", "--jobs", "2", "--set", "threads=2"});
  CHECK(resumed.exit_code == 0);
  CHECK(resumed.out.find("resumed  ") != std::string::npos);
  const auto whole = Hdf5Text(files.folder / "whole.h5", "/agents");
  CHECK(whole != cut);
  CHECK(Hdf5Text(files.folder / "cut.h5", "/agents") == whole);
  CHECK(ReadText(files.folder / "cut.placement.json") ==
        ReadText(files.folder / "whole.placement.json"));
  // Resumed once more there is nothing left to do.
  const ProcessResult again = files.Run({"-o", "cut.h5", "--resume"});
  CHECK(again.exit_code == 0);
  CHECK(again.out.find("resumed  0 searches continue, 9 are complete, 0 start") !=
        std::string::npos);
  CHECK(Hdf5Text(files.folder / "cut.h5", "/agents") == whole);
}

TEST_CASE("without a results file a run begins") {
  const ResumeFiles files(50);
  const ProcessResult result = files.Run({"-o", "new.h5", "--resume"});
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("new.h5: does not exist yet; a new run starts") != std::string::npos);
}

TEST_CASE("what failed, was cut or is missing begins anew") {
  const ResumeFiles files(50);
  REQUIRE(files.Run({"-o", "whole.h5", "--quiet"}).exit_code == 0);
  std::filesystem::copy_file(files.folder / "whole.h5", files.folder / "part.h5");
  {
    ResultsFile file(files.folder / "part.h5", ResultsMode::kExtend);
    file.SetAttribute("/agents/heft", "status", "failed");
    file.SetAttribute("/agents/hill_climb.seed0", "status", "stopped");  // no checkpoint
    file.Remove("/agents/hill_climb.seed1");
    file.Commit();
  }
  const ProcessResult result = files.Run({"-o", "part.h5", "--resume"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("resumed  0 searches continue, 6 are complete, 3 start") !=
        std::string::npos);
  CHECK(Hdf5Text(files.folder / "part.h5", "/agents") ==
        Hdf5Text(files.folder / "whole.h5", "/agents"));
}

TEST_CASE("a better bound in the file is no other problem, and is kept") {
  const ResumeFiles files(50);
  REQUIRE(files.Run({"-o", "r.h5", "--quiet"}).exit_code == 0);
  std::int64_t known = 0;
  {
    const ResultsReader reader(files.folder / "r.h5");
    known = reader.Int("/problem", "bound_ns") + 1;
    ResultsFile file(files.folder / "r.h5", ResultsMode::kExtend);
    file.SetAttribute("/problem", "bound_ns", known);
    file.SetAttribute("/problem", "bound_method", "certain");
    file.Remove("/agents/heft");
    file.SetAttribute("/stress", "seed", std::int64_t{0});
    file.Commit();
  }
  const ProcessResult result = files.Run({"-o", "r.h5", "--resume", "--quiet"});
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find(" by certain; op costs from") != std::string::npos);
  const ResultsReader reader(files.folder / "r.h5");
  CHECK(reader.Int("/problem", "bound_ns") == known);
  CHECK(reader.Text("/problem", "bound_method") == "certain");
  CHECK_FALSE(reader.Has("/stress"));  // of placements that may no longer be the best
}

TEST_CASE("another run than that of the file is refused, and the file stays") {
  const ResumeFiles files(50);
  REQUIRE(files.Run({"-o", "r.h5", "--quiet"}).exit_code == 0);
  const auto before = Hdf5Text(files.folder / "r.h5", "/agents");
  const auto refused = [&](std::vector<std::string> more, std::vector<std::string> fragments) {
    more.insert(more.end(), {"-o", "r.h5", "--resume", "--quiet"});
    fragments.push_back("r.h5: was made with another ");
    CheckRefused(files.Run(more), 2, fragments);
    CHECK(Hdf5Text(files.folder / "r.h5", "/agents") == before);
  };
  SUBCASE("budget") {
    refused({"--set", "budget.evaluations=60"},
            {"config, see budget.evaluations (50 there, 60 now)"});
  }
  SUBCASE("seeds") {
    refused({"--set", "seeds=0:3"}, {"config, see seeds (0:2 there, 0:3 now)"});
  }
  SUBCASE("agents") {
    refused({"--set", "agents=[heft, random]"},
            {"config, see agents (heft, name: hill_climb, batch: 3, simulated_annealing, seq2seq, "
             "hierarchical "
             "there, heft, random now)"});
  }
  SUBCASE("graph") {  // run_problem_test.cc has the other parts of a problem
    WriteText(files.folder / "g.json", LayeredJson(61));
    refused({}, {"version of graph \"small\"", "; restore it, or name another file"});
  }
}

TEST_CASE("checkpoints that an agent refuses are named before anything is written") {
  const ResumeFiles files(50);
  REQUIRE(files.Run({"-o", "r.h5", "--quiet"}).exit_code == 0);
  const auto with_checkpoint = [&](const std::string& text) {
    ResultsFile file(files.folder / "r.h5", ResultsMode::kExtend);
    file.SetAttribute("/agents/hill_climb.seed0", "status", "stopped");
    file.WriteStrings("/agents/hill_climb.seed0/checkpoint", {text});
    file.Commit();
    return files.Run({"-o", "r.h5", "--resume", "--quiet"});
  };
  const std::string place = "r.h5: /agents/hill_climb.seed0/checkpoint: agent state: ";
  CheckRefused(with_checkpoint("emplace-agent-state 1 random 0"),
               2,
               {place + "expected that of agent hill_climb, got that of agent random"});
  CheckRefused(with_checkpoint("emplace-agent-state 2 hill_climb 0"),
               2,
               {place + "version: expected at most 1, got 2: made by a newer version of emplace"});
  CheckRefused(with_checkpoint("emplace-agent-state 1 hill_climb 0"),
               2,
               {place, "another problem", "graph \"small\"", "cluster \"inline\""});
  CheckRefused(with_checkpoint("nonsense"), 2, {place});
}

TEST_CASE("a file that holds no run") {
  const ResumeFiles files(50);
  WriteText(files.folder / "r.h5", "nothing of the kind");
  CheckRefused(files.Run({"-o", "r.h5", "--resume", "--quiet"}), 2, {"r.h5"});
}

}  // namespace
