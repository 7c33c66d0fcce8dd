#include "experiments/sweep/launchers/slurm_texts.h"

#include <optional>

#include <doctest/doctest.h>

#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("a job script gives each task a bundle, and tells its bundles again") {
  const std::vector<std::string> bundles = {"0-9", "10,12-14", "15"};
  const std::string text = SlurmScript(
      {"/usr/bin/emplace", "sweep-worker", "it's"}, bundles, {"--time=1"}, "/x/%a.log", 2, 3);
  CHECK(Contains(text, "#SBATCH --array=0-2%2\n"));  // three bundles, two at a time
  CHECK(Contains(text, "#SBATCH --cpus-per-task=3\n"));
  CHECK(Contains(text, "#SBATCH --output=/x/%a.log\n#SBATCH --time=1\nruns=(\n  0-9\n"));
  CHECK(
      text.ends_with("  15\n)\nexec '/usr/bin/emplace' 'sweep-worker' 'it'\\''s' --runs "
                     "\"${runs[SLURM_ARRAY_TASK_ID]}\"\n"));
  CHECK(BundlesOfSlurmScript(text) == bundles);
  CHECK(BundlesOfSlurmScript("#!/bin/bash\nexec sleep 5\n").empty());
  CHECK(BundlesOfSlurmScript("").empty());
}

TEST_CASE("lines of squeue that are tasks of arrays") {
  const std::optional<SlurmTask> task =
      ParseSlurmTask("17|3|PENDING|launch failed requeued held|/a folder/launch/1.slurm.sh");
  REQUIRE(task);
  CHECK(task->job == "17");
  CHECK(task->index == 3);
  CHECK(task->state == "PENDING");
  CHECK(task->reason == "launch failed requeued held");
  CHECK(task->script == "/a folder/launch/1.slurm.sh");
  CHECK_FALSE(ParseSlurmTask("18|N/A|RUNNING|None|/bin/sleep"));  // a job that is no array
  CHECK_FALSE(ParseSlurmTask("18|4|RUNNING"));
  CHECK_FALSE(ParseSlurmTask("18||RUNNING|None|x"));
  CHECK_FALSE(ParseSlurmTask(""));
}

}  // namespace
