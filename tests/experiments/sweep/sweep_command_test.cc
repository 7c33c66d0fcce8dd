#include <doctest/doctest.h>

#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

TEST_CASE("a dry run prints the runs and makes nothing") {
  const SweepFiles files;
  const ProcessResult result = files.Run({"--dry-run", "-o", "out"});
  CHECK(result.exit_code == 0);
  CHECK(result.err == "");
  CHECK(Contains(result.out, "#0 graph=g.json cluster=c.yaml agent=heft\n"));
  CHECK(Contains(result.out, "#9 graph=h.json cluster=c.yaml agent=seq2seq seed=1\n10 runs\n"));
  CHECK_FALSE(fs::exists(files.folder / "out"));
}

TEST_CASE("a printed config has every key and makes the same runs") {
  const SweepFiles files;
  const ProcessResult printed = files.Run({"--print-config"});
  CAPTURE(printed.err);
  REQUIRE(printed.exit_code == 0);
  for (const char* key :
       {"base:\n", "grid:", "exclude:", "scales:", "\nlauncher:\n  name: local\n"}) {
    CAPTURE(key);
    CHECK(Contains(printed.out, key));
  }
  WriteText(files.folder / "full.yaml", printed.out);
  const ProcessOptions here{.folder = files.folder.path()};
  CHECK(RunEmplace({"sweep", "./full.yaml", "--dry-run"}, here).out ==
        files.Run({"--dry-run"}).out);
  CHECK_FALSE(fs::exists(files.folder / "results"));
}

TEST_CASE("one job, two jobs, a run of its own: the same results") {
  const SweepFiles files;
  const ProcessResult one = files.Run({"-o", "one", "--jobs", "1"});
  CHECK(one.exit_code == 0);
  CHECK(Contains(one.out, "sweep    s: 10 runs\n"));
  CHECK(Contains(one.out, ", graph=g.json cluster=c.yaml\n"));
  CHECK(Contains(one.out, "runs     10 of 10 done\nresults  one\n"));
  CHECK(Contains(one.err, "#1 graph=g.json cluster=c.yaml agent=hill_climb seed=0: "));
  CHECK(Contains(one.err, "10/10 (100 %)"));
  const ProcessResult two = files.Run({"-o", "two", "--jobs", "2", "--quiet"});
  CHECK(two.exit_code == 0);
  CHECK(two.err == "");
  const auto runs = RunTexts(files.folder / "one");
  CHECK(runs.size() == SweepFiles::kRuns);
  CHECK(RunTexts(files.folder / "two") == runs);
  CHECK(ReadText(files.folder / "one/sweep.yaml") == ReadText(files.folder / "two/sweep.yaml"));

  // What is stored with a run is the run config that makes it again, and --resume believes it.
  const ResultsReader reader(files.folder / "one/runs/0007.h5");
  CHECK(reader.Text("/config", "run") == "#7 graph=h.json cluster=c.yaml agent=hill_climb seed=1");
  CHECK(reader.Text("/config", "commit") != "");
  WriteText(files.folder / "alone.yaml", reader.Text("/config", "yaml"));
  const ProcessResult alone = RunEmplace({"run", "alone.yaml", "-o", "alone.h5", "--quiet"},
                                         {.folder = files.folder.path()});
  CHECK(alone.exit_code == 0);
  CHECK(Hdf5Text(files.folder / "alone.h5", "/agents") ==
        Hdf5Text(files.folder / "one/runs/0007.h5", "/agents"));
  CHECK(reader.Text("/problem", "best_single_device") == "gpu:0");
  CHECK(reader.Int("/problem", "best_single_device_ns") ==
        ResultsReader(files.folder / "alone.h5").Int("/problem", "best_single_device_ns"));

  const ProcessResult again = files.Run({"-o", "one", "--resume"});
  CHECK(again.exit_code == 0);
  CHECK(Contains(again.out, "resumed  0 runs continue, 10 are done, 0 start\n"));
  CHECK(RunTexts(files.folder / "one") == runs);

  // Bar and last line count all runs of the sweep.
  std::filesystem::remove(files.folder / "one/runs/0007.h5");
  const ProcessResult last = files.Run({"-o", "one", "--resume"});
  CHECK(Contains(last.out, "resumed  0 runs continue, 9 are done, 1 start\n"));
  CHECK(Contains(last.err, "runs: 10/10 (100 %) in "));
  CHECK(Contains(last.out, "runs     10 of 10 done\n"));
}

TEST_CASE("all is validated before the first run") {
  const SweepFiles files;
  const auto refused = [&](const std::string& setting, std::vector<std::string> fragments) {
    CheckRefused(files.Run({"-o", "out", "--set", setting}), 2, fragments);
    CHECK_FALSE(fs::exists(files.folder / "out"));
  };
  refused("grid.graph=[g.json, x.json]", {"x.json"});
  refused("grid.agents=[heft, {name: hill_climb, batch: -1}]", {"batch"});
  refused("grid.agents=[heft, {name: hill_climb, bach: 1}]", {"did you mean \"batch\""});
  refused("grid.agents.seq2seq.samples=[4, -4]", {"samples"});
  CheckRefused(
      RunEmplace({"sweep", "quik"}), 2, {"unknown sweep \"quik\"; did you mean \"quick\"?"});
  CHECK(RunEmplace({"sweep"}).exit_code == 2);
  const ProcessResult help = RunEmplace({"sweep", "--help-config"});
  CHECK(help.exit_code == 0);
  CHECK(Contains(help.out, "checkpoint_seconds"));
}

TEST_CASE("a sweep called .. is written where -o says") {
  const SweepFiles files;
  fs::copy_file(files.folder / "s.yaml", files.folder / "...yaml");
  CheckRefused(RunEmplace({"sweep", "./...yaml"}, {.folder = files.folder.path()}),
               2,
               {"\"..\" cannot be the name of a folder; name one with -o"});
  CHECK_FALSE(fs::exists(files.folder / "sweep.yaml"));
  CHECK_FALSE(fs::exists(files.folder / "results"));
}

TEST_CASE("a failed run is recorded, the others go on, --resume tries it again") {
  const SweepFiles files;
  const fs::path broken = files.folder / "out/runs/0003.h5";
  REQUIRE(files.Run({"-o", "out", "--quiet"}).exit_code == 0);
  const auto whole = RunTexts(files.folder / "out");
  {
    ResultsFile file(broken, ResultsMode::kExtend);
    file.SetAttribute("/agents/seq2seq.seed0", "status", "stopped");
    file.WriteStrings("/agents/seq2seq.seed0/checkpoint", {"of nobody"});
    file.Commit();
  }
  fs::remove(files.folder / "out/runs/0006.h5");
  const ProcessResult failed = files.Run({"-o", "out", "--resume", "--quiet", "--jobs", "2"});
  CHECK(failed.exit_code == 1);
  CHECK(Contains(failed.out, "resumed  1 runs continue, 8 are done, 1 start\n"));
  CHECK(Contains(failed.out, "failed   #3 graph=g.json cluster=c.yaml agent=seq2seq seed=0: "));
  CHECK(Contains(failed.out, "/agents/seq2seq.seed0/checkpoint: agent state: "));
  CHECK(Contains(failed.out, "runs     9 of 10 done"));
  CHECK(Contains(failed.err, "1 of 10 runs failed; see above; --resume tries them again"));
  CHECK(Contains(ResultsReader(broken).Text("/agents/seq2seq.seed0", "error"), "agent state"));
  fs::remove(broken);
  CHECK(files.Run({"-o", "out", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out") == whole);
}

}  // namespace
