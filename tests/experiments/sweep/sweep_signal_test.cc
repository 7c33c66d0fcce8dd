// A sweep that is asked to stop.

#include <chrono>
#include <thread>

#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_process.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Four searches that would go on for days.
std::vector<std::string> Endless(const std::string& jobs) {
  return {"--jobs",
          jobs,
          "--set",
          "grid.agents=[seq2seq]",
          "--set",
          "base.budget.evaluations=1000000000"};
}

TEST_CASE("ctrl-C, SIGTERM and the end of the terminal leave checkpoints, even of halted workers") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(number);
    const SweepFiles files(100, 0.01);
    SweepProcess sweep(files, "cut", Endless("2"));
    while (!std::filesystem::exists(files.folder / "cut/runs/0000.h5") ||
           !std::filesystem::exists(files.folder / "cut/runs/0001.h5")) {
      REQUIRE(sweep.WaitForWrites(1));
    }
    const std::vector<pid_t> workers = sweep.Workers();
    REQUIRE(workers.size() == 2);
    if (number == SIGTERM) kill(workers[0], SIGSTOP);
    for (const pid_t worker : workers) kill(worker, number);  // as `timeout` does it: all, twice
    sweep.Signal(number);
    sweep.Signal(number);
    CHECK(sweep.Wait() == 1);
    CHECK(Contains(sweep.Printed(),
                   "emplace: stopped: 0 of 4 runs are done; --resume continues from"));
    for (const std::string run : {"0", "1"}) {
      const ResultsReader reader(files.folder / ("cut/runs/000" + run + ".h5"));
      CHECK(reader.Text("/agents/seq2seq.seed" + run, "status") == "stopped");
      CHECK(reader.Has("/agents/seq2seq.seed" + run + "/checkpoint"));
    }
    CHECK(ReadText(files.folder / "cut/lock") == "");
  }
}

TEST_CASE("a stopped sweep goes on to the results of the undisturbed one") {
  const SweepFiles files(150);
  REQUIRE(files.Run({"-o", "whole", "--quiet"}).exit_code == 0);
  SweepProcess sweep(files, "cut");
  sweep.WaitForWrites(2);
  sweep.Signal(SIGINT);
  const int code = sweep.Wait();
  CHECK((code == 1 || code == 0));  // 0: it was done before
  CHECK(files.Run({"-o", "cut", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "cut") == RunTexts(files.folder / "whole"));
}

TEST_CASE("under nohup the end of the terminal changes nothing") {
  const SweepFiles files(100, 0.01);
  SweepProcess sweep(files, "cut", Endless("2"), SIGHUP);
  REQUIRE(sweep.WaitForWrites(1));
  sweep.Signal(SIGHUP);
  CHECK(sweep.WaitForWrites(10));  // workers that were asked to stop would write once more each
}

TEST_CASE("more jobs than runs, and a killed worker among them") {
  const SweepFiles files(100, 0.01);
  SweepProcess sweep(files, "cut", Endless("50"));
  REQUIRE(sweep.WaitForWrites(1));
  const std::vector<pid_t> workers = sweep.Workers();
  REQUIRE(!workers.empty());
  kill(workers.back(), SIGKILL);
  for (int i = 0; i < 1000 && kill(workers.back(), 0) == 0; ++i) {  // until its end is noticed
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  sweep.Signal(SIGTERM);
  CHECK(sweep.Wait() == 1);
  CHECK(Contains(sweep.Printed(),
                 "killed by signal 9 (Killed: by a user or because memory ran out)"));
}

}  // namespace
