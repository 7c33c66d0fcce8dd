#include "experiments/sweep/sweep_folder.h"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

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
  refused({"--set", "scale=small"}, {"out: holds a sweep already; --resume continues it"});
  refused({"--resume"},
          {"out/sweep.yaml: was made with another sweep, see configs.0.budget.evaluations "
           "(5 there, 100 now)"});

  WriteText(files.folder / "h.json", LayeredJson(21));
  refused(resume, {"out/sweep.yaml: was made with another sweep, see problems.1.id_graph ("});
  WriteText(files.folder / "h.json", LayeredJson(20));

  const std::string frozen = ReadText(files.folder / "out/sweep.yaml");
  std::string newer = frozen;
  newer.replace(newer.find("version: 2"), 10, "version: 3");
  WriteText(files.folder / "out/sweep.yaml", newer);
  refused(resume,
          {"out/sweep.yaml:3:10: version: expected at most 2, got 3: made by a newer version"});
  WriteText(files.folder / "out/sweep.yaml", frozen);

  {
    const int lock = open((files.folder / "out/lock").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
    WriteText(files.folder / "out/lock", "process 7 on elsewhere");
    refused(resume, {"out: another emplace is running in it (process 7 on elsewhere)"});
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
    CHECK(ReadText(files.folder / "out/lock") == "");
  }
  {
    ResultsFile file(files.folder / "out/runs/0002.h5", ResultsMode::kExtend);
    file.SetAttribute("/", "version", kResultsVersion + 1);
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
  // Refused before anything in it is touched: not even what is named as a sweep's own files.
  WriteText(files.folder / "mine/lock", "of my door");
  WriteText(files.folder / "mine/draft.tmp", "");
  CheckRefused(files.Run({"-o", "mine", "--resume"}), 2, {"mine: holds mine/"});
  fs::remove(files.folder / "mine/thesis.tex");
  fs::remove(files.folder / "mine/draft.tmp");
  CheckRefused(files.Run({"-o", "mine"}), 2, {"mine: holds mine/lock; expected an empty folder"});
  CHECK(ReadText(files.folder / "mine/lock") == "of my door");
  WriteText(files.folder / "mine/sweep.yaml", "base: {}\n");
  CheckRefused(files.Run({"-o", "mine"}), 2, {"mine/sweep.yaml: is not a frozen sweep"});
  CheckRefused(
      files.Run({"-o", "mine", "--resume"}), 2, {"mine/sweep.yaml: is not a frozen sweep"});
  CHECK(ReadText(files.folder / "mine/lock") == "of my door");

  CheckRefused(files.Run({"-o", "c.yaml/out"}), 1, {"c.yaml/out: cannot be created"});
  CheckRefused(files.Run({"-o", "/proc/out"}), 1, {"/proc/out: cannot be created"});
  std::string longest;  // of paths: its folder can be made, and nothing in it be named
  while (longest.size() < 4090) longest += "./";
  const ProcessResult nameless = files.Run({"-o", longest});
  CHECK(nameless.exit_code == 1);
  CHECK(Contains(nameless.err, "/sweep.yaml: File name too long\n"));
  if (geteuid() == 0) {
    MESSAGE("not tested: a folder that may not be entered; root may enter all of them");
  } else {
    fs::create_directory(files.folder / "closed");
    fs::permissions(files.folder / "closed", fs::perms::none);
    CheckRefused(files.Run({"-o", "closed"}), 1, {"closed/sweep.yaml: Permission denied"});
    fs::permissions(files.folder / "closed", fs::perms::owner_all);
  }
  // Without the frozen sweep nobody knows what the runs are of.
  fs::create_directories(files.folder / "stale/runs");
  WriteText(files.folder / "stale/runs/0000.h5", "");
  CheckRefused(files.Run({"-o", "stale"}), 2, {"stale: holds stale/runs"});
  const ProcessResult begun =
      files.Run({"-o", "new/er", "--resume", "--set", "scale=small", "--quiet"});
  CHECK(begun.exit_code == 0);
  CHECK(Contains(begun.err, "new/er: does not exist yet; a new sweep starts"));
}

TEST_CASE("a sweep killed on another machine is told, and goes on") {
  const SweepFiles files;
  const std::vector<std::string> run = {"-o", "out", "--resume", "--quiet", "--set", "scale=small"};
  REQUIRE(files.Run(run).exit_code == 0);
  WriteText(files.folder / "out/lock", "process 7 on elsewhere");
  const ProcessResult result = files.Run(run);
  CHECK(result.exit_code == 0);
  CHECK(Contains(result.err, "warning: out: process 7 on elsewhere did not finish its sweep here"));
  CHECK(files.Run(run).err == "");
}

TEST_CASE("another version of the program is told and remembered") {
  const SweepFiles files;
  const std::vector<std::string> resume = {"-o", "out", "--resume", "--quiet"};
  REQUIRE(files.Run(resume).exit_code == 0);
  const fs::path done = files.folder / "out/runs/0001.h5",
                 stopped = files.folder / "out/runs/0003.h5";
  for (const fs::path& path : {done, stopped}) {
    ResultsFile file(path, ResultsMode::kExtend);
    file.SetAttribute("/config", "version", "0.0.9");
    file.SetAttribute("/config", "commit", "abc");
    if (path == stopped) file.SetAttribute("/agents/seq2seq.seed0", "status", "failed");
    file.Commit();
  }
  const ProcessResult result = files.Run(resume);
  CHECK(result.exit_code == 0);
  CHECK(
      Contains(result.err, "out: 2 of 10 runs were made by emplace 0.0.9 (commit abc); this is "));
  // What was done stays that program's; what failed was begun anew by this one alone.
  CHECK(ResultsReader(done).Text("/config", "commit") == "abc");
  CHECK(ResultsReader(stopped).Text("/config", "commit") != "abc");
  CHECK_FALSE(ResultsReader(stopped).HasAttribute("/config", "earlier_programs"));
}

}  // namespace
