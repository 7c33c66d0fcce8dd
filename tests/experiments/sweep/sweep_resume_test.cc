// kill -9 of anything at any moment, a full disk: the results are those of the undisturbed sweep.

#include <doctest/doctest.h>
#include <sys/file.h>

#include "framework/base/random.h"
#include "tests/experiments/sweep/sweep_process.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

using std::chrono::milliseconds;

TEST_CASE("killed again and again, supervisor and workers: the results are the same") {
  const SweepFiles files(120, 0.02);
  REQUIRE(files.Run({"-o", "whole", "--quiet", "--jobs", "2"}).exit_code == 0);
  const auto whole = RunTexts(files.folder / "whole");
  REQUIRE(whole.size() == SweepFiles::kRuns);

  Rng rng(7);
  const int wanted = 8 * EMPLACE_TEST_SCALE;
  int supervisors = 0, workers = 0, begun = 0;
  while (supervisors + workers < wanted) {
    REQUIRE(++begun < 10 * wanted);
    SweepProcess sweep(files, "cut");
    // Where it stands in its work counts, not the time: a slow machine is met in the same places.
    while (supervisors + workers < wanted && sweep.WaitForWrites(1 + UniformInt(rng, 4))) {
      std::this_thread::sleep_for(milliseconds(UniformInt(rng, 20)));
      if (workers >= supervisors) {
        sweep.Signal(SIGKILL);
        if (sweep.Wait() == 128 + SIGKILL) ++supervisors;
      } else if (const std::vector<pid_t> pids = sweep.Workers(); !pids.empty()) {
        kill(pids[UniformInt(rng, static_cast<int>(pids.size()))], SIGKILL);
        ++workers;
      }
      for (const auto& entry : fs::directory_iterator(files.folder / "cut/runs")) {
        if (entry.path().extension() == ".h5") CHECK(!Hdf5Text(entry.path(), "/agents").empty());
      }
    }
    if (supervisors + workers == wanted) continue;
    const int code = sweep.Wait();
    CHECK((code == 0 || code == 1 || code == 128 + SIGKILL));
    if (code == 0) fs::remove_all(files.folder / "cut");  // nothing is left to be killed
  }
  CHECK(supervisors > 0);
  CHECK(workers > 0);
  const ProcessResult last = files.Run({"-o", "cut", "--resume", "--jobs", "2", "--quiet"});
  CHECK(last.exit_code == 0);
  CHECK(RunTexts(files.folder / "cut") == whole);
}

TEST_CASE("a killed supervisor takes its workers along") {
  const SweepFiles files(1'000'000'000, 0.02);
  SweepProcess sweep(files, "cut", {"--set", "grid.agents=[seq2seq]"});
  REQUIRE(sweep.WaitForWrites(3));
  sweep.Signal(SIGKILL);
  CHECK(sweep.Wait() == 128 + SIGKILL);
  // Every worker holds the lock, too, and would go on for days.
  const int lock = open((files.folder / "cut/lock").c_str(), O_RDWR | O_CLOEXEC);
  bool free = false;
  for (int i = 0; i < 60'000 && !free; ++i) {
    free = flock(lock, LOCK_EX | LOCK_NB) == 0;
    std::this_thread::sleep_for(milliseconds(1));
  }
  CHECK(free);
  close(lock);
}

TEST_CASE("files that are damaged are set aside and made again") {
  const SweepFiles files(30);
  REQUIRE(files.Run({"-o", "out", "--quiet"}).exit_code == 0);
  const fs::path runs = files.folder / "out/runs";
  const auto whole = RunTexts(files.folder / "out");
  const std::string second = ReadText(runs / "0002.h5");
  WriteText(runs / "0001.h5", "");
  WriteText(runs / "0002.h5", second.substr(0, second.size() / 2));
  WriteText(runs / ".0003.h5.0.tmp", second.substr(0, 100));  // killed while it was written
  WriteText(runs / ".0003.h5.aBcDeF.tmp", "");
  WriteText(files.folder / "out/.sweep.yaml.0.tmp", "format");
  WriteText(runs / "mine.tmp", "stays");
  const ProcessResult result = files.Run({"-o", "out", "--resume", "--quiet"});
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("out/runs/0001.h5: not a results file of emplace (HDF5), or incomplete; "
                        "the file is kept as 0001.h5.damaged and its run starts again") !=
        std::string::npos);
  CHECK(result.out.find("resumed  0 runs continue, 8 are done, 2 start") != std::string::npos);
  CHECK(ReadText(runs / "0001.h5.damaged") == "");
  CHECK(ReadText(runs / "0002.h5.damaged") == second.substr(0, second.size() / 2));
  CHECK_FALSE(fs::exists(runs / ".0003.h5.0.tmp"));
  CHECK_FALSE(fs::exists(runs / ".0003.h5.aBcDeF.tmp"));
  CHECK_FALSE(fs::exists(files.folder / "out/.sweep.yaml.0.tmp"));
  CHECK(ReadText(runs / "mine.tmp") == "stays");
  for (const char* name : {"0001.h5.damaged", "0002.h5.damaged", "mine.tmp"}) {
    fs::remove(runs / name);
  }
  CHECK(RunTexts(files.folder / "out") == whole);

  fs::remove_all(runs);
  CHECK(files.Run({"-o", "out", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out") == whole);
}

// No file can grow beyond `bytes`, as on a disk that is full.
ProcessResult RunLimited(const SweepFiles& files, std::uintmax_t bytes) {
  const std::string program = (BinaryDir() / "emplace").string();
  return RunProcess({"/bin/sh",
                     "-c",
                     fmt::format("trap '' XFSZ; exec prlimit --fsize={} {} sweep s.yaml -o cut "
                                 "--resume --quiet --jobs 1",
                                 bytes,
                                 program)},
                    {.folder = files.folder.path()});
}

TEST_CASE("a full disk is told, and what was written stays") {
  const SweepFiles files(60);
  REQUIRE(files.Run({"-o", "whole", "--quiet"}).exit_code == 0);
  const auto whole = RunTexts(files.folder / "whole");

  // Room for the results of heft and for notes of failures, not for longer searches.
  const auto heft = fs::file_size(files.folder / "whole/runs/0000.h5");
  REQUIRE(fs::file_size(files.folder / "whole/runs/0001.h5") > heft + 512);
  const ProcessResult some = RunLimited(files, heft + 512);
  CHECK(some.exit_code == 1);
  CHECK(some.out.find("cut/runs/0001.h5: cannot be written: File too large") != std::string::npos);
  CHECK(some.out.find("runs     2 of 10 done") != std::string::npos);
  CHECK(some.err.find("8 of 10 runs failed") != std::string::npos);
  const auto cut = RunTexts(files.folder / "cut");
  CHECK(cut.at("0000.h5") == whole.at("0000.h5"));
  CHECK(cut.at("0005.h5") == whole.at("0005.h5"));

  // Not even a note can be written.
  const ProcessResult none = RunLimited(files, 1024);
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("cut/runs/0001.h5: cannot be written") != std::string::npos);
  CHECK(RunTexts(files.folder / "cut") == cut);

  CHECK(files.Run({"-o", "cut", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "cut") == whole);
}

TEST_CASE("a log that cannot be written does not end the work") {
  const SweepFiles files(30);
  const std::string program = (BinaryDir() / "emplace").string();
  const auto shell = [&](const std::string& command) {
    return RunProcess({"/bin/sh", "-c", command}, {.folder = files.folder.path()});
  };
  CHECK(shell(program + " sweep s.yaml -o full 2>/dev/full").exit_code == 0);
  CHECK(RunTexts(files.folder / "full").size() == SweepFiles::kRuns);
  shell(fmt::format("({} sweep s.yaml -o gone 2>&1 >/dev/null; echo $? >code) | true", program));
  CHECK(ReadText(files.folder / "code") == "0\n");
  CHECK(RunTexts(files.folder / "gone") == RunTexts(files.folder / "full"));
}

}  // namespace
