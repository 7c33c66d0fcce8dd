// What ExecuteRun() promises of its file's lock. Results are tested with the program,
// run_command_test.cc.

#include "experiments/run/run_execution.h"

#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "experiments/console/output.h"
#include "experiments/run/run_config.h"
#include "framework/base/error.h"
#include "framework/base/file_lock.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

TEST_CASE("from before the first search until the placement is written nobody else writes") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml", "graph: g.json\ncluster: c.yaml\nagents: [single_gpu]\n");
  RunPlan plan = ReadRunPlan(folder / "run.yaml", {}, AllAgents());
  LoadedProblem problem = LoadProblem(plan);
  Run run = PrepareRun(std::move(plan), std::move(problem));
  const fs::path output = folder / "r.h5", placement = folder / "r.placement.json";
  int calls = 0;
  const auto require_locked = [&] {
    ++calls;
    CHECK_THROWS_AS(FileLock(output, PrintWarning), InputError);
    CHECK(!fs::exists(placement));
  };
  ExecuteRun(run, {.output = output, .quiet = true, .begins = require_locked, .ends = [&] {
                     require_locked();
                     WriteBestPlacement(run, MakeRows(run), output);
                   }});
  CHECK(calls == 2);
  CHECK(fs::exists(placement));
  const FileLock free(output, PrintWarning);
}

}  // namespace
