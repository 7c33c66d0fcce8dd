#include "experiments/sweep/run_board.h"

#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("marks, owner and the request to stop") {
  const TempDir folder;
  RunBoard board(folder / "board", 4);
  CHECK(board.owner() == "");
  CHECK(board.Marks() == std::vector<RunProgress>(4, RunProgress::kNew));
  CHECK_FALSE(board.stop_requested());
  board.Begin({RunProgress::kDone, RunProgress::kNew, RunProgress::kNew, RunProgress::kNew},
              "process 7 on a");
  CHECK(ReadText(folder / "board") == "d....\nprocess 7 on a\n");
  RunBoard(folder / "board", 4).Claim(2)->Mark(RunProgress::kFailed);
  CHECK(board.Marks()[2] == RunProgress::kFailed);
  CHECK(board.owner() == "process 7 on a");
  board.RequestStop();
  CHECK(RunBoard(folder / "board", 4).stop_requested());
  CHECK(ReadText(folder / "board") == "d.f.x\nprocess 7 on a\n");
  board.Begin(std::vector<RunProgress>(4, RunProgress::kNew), "process 8 on b");
  CHECK_FALSE(board.stop_requested());
  CHECK(board.owner() == "process 8 on b");
  CHECK_THROWS_WITH_AS(RunBoard(folder / "none/board", 4),
                       doctest::Contains("none/board: cannot be opened: No such file"),
                       RunError);
}

TEST_CASE("a run has one claim at a time; others are free") {
  const TempDir folder;
  const RunBoard board(folder / "board", 10), elsewhere(folder / "board", 10);
  {
    const auto first = board.Claim(3), second = board.Claim(4), last = elsewhere.Claim(9);
    REQUIRE((first && second && last));
    CHECK(first->run() == 3);
    CHECK_FALSE(board.Claim(3));
    CHECK_FALSE(elsewhere.Claim(3));
    CHECK(elsewhere.IsClaimed(4));
    CHECK_FALSE(elsewhere.IsClaimed(5));
    CHECK(board.NumClaimed() == 3);
    CHECK(first->mark() == RunProgress::kNew);
  }
  CHECK(board.NumClaimed() == 0);
  CHECK(board.Claim(3));
}

TEST_CASE("a claim goes with the process that holds it, and with no other") {
  const TempDir folder;
  RunBoard board(folder / "board", 3);
  std::optional<RunClaim> claim = board.Claim(1);
  const pid_t child = fork();  // as the process of a run: it holds the claim, too
  if (child == 0) {
    while (true) pause();
  }
  claim.reset();
  CHECK(board.IsClaimed(1));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK_FALSE(board.IsClaimed(1));
  CHECK(board.Claim(1));
}

TEST_CASE("randomised: counted claims are those that are held") {
  const TempDir folder;
  const int num_runs = 60;
  const RunBoard board(folder / "board", num_runs);
  Rng rng(5);
  std::map<int, RunClaim> held;
  for (int i = 0; i < 400 * EMPLACE_TEST_SCALE; ++i) {
    const int run = UniformInt(rng, num_runs);
    if (UniformInt(rng, 2) == 0) {
      held.erase(run);
    } else if (auto claim = board.Claim(run)) {
      CHECK(held.emplace(run, std::move(*claim)).second);
    } else {
      CHECK(held.contains(run));
    }
    CHECK(board.NumClaimed() == std::ssize(held));
    CHECK(board.IsClaimed(run) == held.contains(run));
  }
}

TEST_CASE("of many processes that want a run, one gets it at a time") {
  const TempDir folder;
  WriteText(folder / "count", "");
  const RunBoard board(folder / "board", 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const RunBoard own(folder / "board", 1);
      for (int taken = 0; taken < 25;) {
        const auto claim = own.Claim(0);
        if (!claim) continue;
        WriteText(folder / "count", ReadText(folder / "count") + "x");  // not atomic at all
        ++taken;
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  CHECK(ReadText(folder / "count") == std::string(100, 'x'));  // 4 processes, 25 times each
}

}  // namespace
