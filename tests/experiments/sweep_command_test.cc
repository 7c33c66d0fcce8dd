#include <chrono>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/sweep_files.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

bool Holds(const std::string& text, const std::string& fragment) {
  return text.find(fragment) != std::string::npos;
}

TEST_CASE("a dry run prints the runs and makes nothing") {
  const SweepFiles files;
  const ProcessResult result = files.Run({"--dry-run", "-o", "out"});
  CHECK(result.exit_code == 0);
  CHECK(result.err == "");
  CHECK(Holds(result.out, "#0 graph=g.json cluster=c.yaml agent=heft\n"));
  CHECK(Holds(result.out, "#9 graph=h.json cluster=c.yaml agent=seq2seq seed=1\n10 runs\n"));
  CHECK_FALSE(fs::exists(files.folder / "out"));
}

TEST_CASE("one job, two jobs, a run of its own: the same results") {
  const SweepFiles files;
  const ProcessResult one = files.Run({"-o", "one", "--jobs", "1"});
  CHECK(one.exit_code == 0);
  CHECK(Holds(one.out, "sweep    s: 10 runs\n"));
  CHECK(Holds(one.out, "best     g.json on c.yaml: "));
  CHECK(Holds(one.out, "runs     10 of 10 done\nresults  one\n"));
  CHECK(Holds(one.err, "#1 graph=g.json cluster=c.yaml agent=hill_climb seed=0: "));
  CHECK(Holds(one.err, "10/10 (100 %)"));
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

  const ProcessResult again = files.Run({"-o", "one", "--resume"});
  CHECK(again.exit_code == 0);
  CHECK(Holds(again.out, "resumed  0 runs go on, 10 are done, 0 begin\n"));
  CHECK(RunTexts(files.folder / "one") == runs);
}

TEST_CASE("a folder with a sweep in it") {
  const SweepFiles files;
  REQUIRE(files.Run({"-o", "out", "--quiet", "--set", "scale=small"}).exit_code == 0);
  const auto runs = RunTexts(files.folder / "out");
  const auto refused = [&](std::vector<std::string> more, std::vector<std::string> fragments) {
    more.insert(more.end(), {"-o", "out", "--quiet"});
    CheckRefused(files.Run(more), 2, fragments);
    CHECK(RunTexts(files.folder / "out") == runs);
  };
  const std::vector<std::string> resume = {"--resume", "--set", "scale=small"};
  refused({"--set", "scale=small"}, {"out: holds a sweep already; --resume goes on with it"});
  refused({"--resume"},
          {"out/sweep.yaml: was made with another sweep, see configs.0.budget.evaluations "
           "(5 there, 100 now)"});

  WriteText(files.folder / "h.json", LayeredJson(21));
  refused(resume, {"problems.1.ops (20 there, 21 now)"});
  WriteText(files.folder / "h.json", LayeredJson(20));

  const std::string frozen = ReadText(files.folder / "out/sweep.yaml");
  std::string newer = frozen;
  newer.replace(newer.find("version: 1"), 10, "version: 2");
  WriteText(files.folder / "out/sweep.yaml", newer);
  refused(resume, {"out/sweep.yaml:3:10: version: expected 1, got 2"});
  WriteText(files.folder / "out/sweep.yaml", frozen);

  {
    const int lock = open((files.folder / "out/lock").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
    WriteText(files.folder / "out/lock", "process 7 on elsewhere");
    refused(resume, {"out: another sweep is running in it (process 7 on elsewhere)"});
    // A killed sweep leaves its name behind, and workers that hold the lock until they are gone.
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, nullptr, 0);
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    WriteText(files.folder / "out/lock", fmt::format("process {} on {}", dead, host));
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      close(lock);
    });
    std::vector<std::string> more = resume;
    more.insert(more.end(), {"-o", "out", "--quiet"});
    CHECK(files.Run(more).err == "");
    late.join();
  }
  {
    ResultsFile file(files.folder / "out/runs/0002.h5", ResultsMode::kExtend);
    file.SetAttribute("/", "version", std::int64_t{2});
    file.Commit();
  }
  refused(resume, {"out/runs/0002.h5", "version"});
}

TEST_CASE("folders that cannot be had") {
  const SweepFiles files;
  fs::create_directory(files.folder / "mine");
  WriteText(files.folder / "mine/thesis.tex", "");
  CheckRefused(
      files.Run({"-o", "mine"}), 2, {"mine: holds mine/thesis.tex; expected an empty folder"});
  CheckRefused(files.Run({"-o", "c.yaml/out"}), 1, {"c.yaml/out: cannot be created"});
  CheckRefused(files.Run({"-o", "/proc/out"}), 1, {"/proc/out: cannot be created"});
  // Without the frozen sweep nobody knows what the runs are of.
  fs::create_directories(files.folder / "stale/runs");
  WriteText(files.folder / "stale/runs/0000.h5", "");
  CheckRefused(files.Run({"-o", "stale"}), 2, {"stale: holds stale/runs"});
  const ProcessResult begun =
      files.Run({"-o", "new/er", "--resume", "--set", "scale=small", "--quiet"});
  CHECK(begun.exit_code == 0);
  CHECK(Holds(begun.err, "new/er: is not there yet; a new sweep begins"));
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
  CHECK(Holds(help.out, "checkpoint_seconds"));
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
  CHECK(Holds(failed.out, "resumed  1 runs go on, 8 are done, 1 begin\n"));
  CHECK(Holds(failed.out, "failed   #3 graph=g.json cluster=c.yaml agent=seq2seq seed=0: "));
  CHECK(Holds(failed.out, "/agents/seq2seq.seed0/checkpoint: agent state: "));
  CHECK(Holds(failed.out, "runs     9 of 10 done"));
  CHECK(Holds(failed.err, "1 of 10 runs failed, see above; --resume tries them again"));
  CHECK(Holds(ResultsReader(broken).Text("/agents/seq2seq.seed0", "error"), "agent state"));
  fs::remove(broken);
  CHECK(files.Run({"-o", "out", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out") == whole);
}

}  // namespace
