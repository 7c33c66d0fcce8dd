// kill -9 of anything at any moment, ctrl-C, a full disk: the results are those of the undisturbed
// sweep.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/random.h"
#include "tests/experiments/sweep_files.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

// Large enough to be met in the middle by the kills.
constexpr int kEvaluations = 1000;

// The program in the background.
class Background {
 public:
  Background(const SweepFiles& files, const std::string& output) {
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    const std::string program = (BinaryDir() / "emplace").string();
    if (chdir(files.folder.path().c_str()) == 0) {
      execl(program.c_str(),
            "emplace",
            "sweep",
            "s.yaml",
            "--resume",
            "--jobs",
            "2",
            "-o",
            output.c_str(),
            nullptr);
    }
    _exit(127);
  }

  std::vector<pid_t> Workers() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                       "/children");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

  void Kill() const { kill(pid_, SIGKILL); }

  // Exit code, or 128 + signal.
  int Wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

TEST_CASE("killed again and again, supervisor and workers: the results are the same") {
  const SweepFiles files(kEvaluations, 0.05);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(files.Run({"-o", "whole", "--quiet", "--jobs", "2"}).exit_code == 0);
  const auto duration = std::chrono::steady_clock::now() - begin;  // what the kills are spread over
  const auto whole = RunTexts(files.folder / "whole");
  REQUIRE(whole.size() == SweepFiles::kRuns);

  Rng rng(7);
  int supervisors_killed = 0, workers_killed = 0;
  const int kills = 6 * EMPLACE_TEST_SCALE;
  for (int i = 0; i < kills; ++i) {
    const Background sweep(files, "cut");
    std::this_thread::sleep_for(duration * (10 + UniformInt(rng, 50)) / 100);
    if (i % 2 == 0) {
      sweep.Kill();
      if (sweep.Wait() == 128 + SIGKILL) ++supervisors_killed;
    } else {
      const std::vector<pid_t> workers = sweep.Workers();
      for (const pid_t worker : workers) kill(worker, SIGKILL);
      const int code = sweep.Wait();
      CHECK((code == 0 || code == 1));  // 0: it ended before
      if (code == 1) ++workers_killed;
    }
    // At any moment every file can be read.
    if (!fs::exists(files.folder / "cut/runs")) continue;
    for (const auto& entry : fs::directory_iterator(files.folder / "cut/runs")) {
      if (entry.path().extension() == ".h5") CHECK(!Hdf5Text(entry.path(), "/agents").empty());
    }
  }
  CHECK(supervisors_killed + workers_killed > 0);
  const ProcessResult last = files.Run({"-o", "cut", "--resume", "--jobs", "2", "--quiet"});
  CHECK(last.exit_code == 0);
  CHECK(RunTexts(files.folder / "cut") == whole);
}

TEST_CASE("ctrl-C leaves checkpoints; the rest goes on from there") {
  const SweepFiles files(kEvaluations);
  REQUIRE(files.Run({"-o", "whole", "--quiet"}).exit_code == 0);
  const ProcessResult stopped =
      files.Run({"-o", "cut", "--jobs", "2"}, {.interrupt_when = "agent=heft"});
  if (stopped.exit_code != 0) {  // it came in time
    CHECK(stopped.exit_code == 1);
    CHECK(stopped.err.find("stopped: ") != std::string::npos);
    CHECK(stopped.err.find("--resume goes on from there") != std::string::npos);
  }
  const ProcessResult rest = files.Run({"-o", "cut", "--resume", "--quiet"});
  CHECK(rest.exit_code == 0);
  CHECK(RunTexts(files.folder / "cut") == RunTexts(files.folder / "whole"));
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
  const SweepFiles files;
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

}  // namespace
