#include "experiments/sweep/frozen_sweep.h"

#include <numeric>
#include <optional>

#include <doctest/doctest.h>

#include "experiments/sweep/run_board.h"
#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

TEST_CASE("texts of runs") {
  CHECK(ParseRuns("0-2,5,7-7", 8) == std::vector<int>{0, 1, 2, 5, 7});
  CHECK(RunsText({0, 1, 2, 5, 7}) == "0-2,5,7");
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<int> runs;
    for (int run = UniformInt(rng, 4); run < 40; run += 1 + UniformInt(rng, 3)) runs.push_back(run);
    CHECK(ParseRuns(RunsText(runs), 42) == runs);
  }
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH_AS(ParseRuns(text, 8), message.c_str(), InputError);
  };
  refuses("", "--runs: expected numbers as in 0-99,103, got none");
  refuses("8", "--runs: expected numbers from 0 to 7 as in 0-99,103, got \"8\" in \"8\"");
  refuses("1,x", "--runs: expected numbers from 0 to 7 as in 0-99,103, got \"x\" in \"1,x\"");
  refuses("1-", "--runs: expected numbers from 0 to 7 as in 0-99,103, got \"\" in \"1-\"");
  refuses("1,,2", "--runs: expected numbers from 0 to 7 as in 0-99,103, got \"\" in \"1,,2\"");
  refuses("3-2", "--runs: 3-2 is empty in \"3-2\"");
  refuses("3,1", "--runs: expected ascending numbers, got \"3,1\"");
  refuses("1-3,3", "--runs: expected ascending numbers, got \"1-3,3\"");
}

// A sweep that was frozen and lost all its results.
struct FrozenFiles : SweepFiles {
  std::map<std::string, std::vector<std::string>> whole;

  FrozenFiles() : SweepFiles(60) {
    REQUIRE(Run({"-o", "out", "--quiet"}).exit_code == 0);
    whole = RunTexts(folder / "out");
    for (const auto& entry : fs::directory_iterator(folder / "out/runs")) fs::remove(entry);
    fs::remove(folder / "out/board");
  }
  ProcessResult Work(std::vector<std::string> more) const {
    more.insert(more.begin(), {"sweep-worker", "out"});
    return RunEmplace(more, {.folder = folder.path()});
  }
};

TEST_CASE("workers make of the frozen sweep what the sweep itself would have made") {
  const FrozenFiles files;
  const fs::path runs = files.folder / "out/runs";
  CHECK(files.Work({"--runs", "1-3,8"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out").size() == 4);
  CHECK(ReadText(files.folder / "out/board").substr(0, 9) == std::string("\0ddd\0\0\0\0d", 9));
  const auto written = fs::last_write_time(runs / "0003.h5");
  const ProcessResult rest = files.Work({"--jobs", "2", "--cores", "1"});
  CHECK(rest.exit_code == 0);
  CHECK(rest.out + rest.err == "");
  CHECK(RunTexts(files.folder / "out") == files.whole);
  CHECK(fs::last_write_time(runs / "0003.h5") == written);  // was done, and was passed over
}

TEST_CASE("many workers with the same runs: each run is done once") {
  const FrozenFiles files;
  std::vector<std::string> command = {"/bin/sh", "-c", "", "sh"};
  command[2] = "for i in 1 2 3 4; do " + (BinaryDir() / "emplace").string() +
               " sweep-worker out & done; wait";
  CHECK(RunProcess(command, {.folder = files.folder.path()}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out") == files.whole);
}

TEST_CASE("a worker goes on with runs that nobody works at, if it may") {
  const FrozenFiles files;
  RunBoard board(files.folder / "out/board", FrozenFiles::kRuns);
  std::optional<RunClaim> claim = board.Claim(5);
  CHECK(files.Work({"--runs", "2,4", "--others"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out").size() == 9);  // all but the one that is claimed
  CHECK_FALSE(fs::exists(files.folder / "out/runs/0005.h5"));
  claim.reset();
  CHECK(files.Work({"--runs", "2", "--others"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "out") == files.whole);
}

TEST_CASE("a worker refuses another problem, and what is no sweep") {
  const FrozenFiles files;
  std::string graph = ReadText(files.folder / "h.json");
  WriteText(files.folder / "h.json", LayeredJson(21));
  CHECK(files.Work({"--runs", "0-4"}).exit_code == 0);  // of g.json
  CheckRefused(
      files.Work({"--runs", "5"}),
      2,
      {"out/sweep.yaml:",
       "problems.1.id_graph: the sweep was frozen with another version of graph \"small\""});
  graph.insert(graph.find("\"g\": ") + 5, "9");
  WriteText(files.folder / "h.json", graph);
  CheckRefused(files.Work({"--runs", "5"}),
               2,
               {"problems.1.id_costs: the sweep was frozen with another version of the costs"});
  CheckRefused(files.Work({"--runs", "99"}), 2, {"--runs: expected numbers from 0 to 9"});
  WriteText(files.folder / "out/sweep.yaml", "a: b\n");
  CheckRefused(files.Work({}), 2, {"out/sweep.yaml: is not a frozen sweep"});
  CheckRefused(RunEmplace({"sweep-worker", "nowhere"}), 2, {"nowhere/sweep.yaml"});
}

TEST_CASE("a worker that is asked to stop on the board begins nothing") {
  const FrozenFiles files;
  RunBoard(files.folder / "out/board", SweepFiles::kRuns).RequestStop();
  CHECK(files.Work({}).exit_code == 0);
  CHECK(fs::is_empty(files.folder / "out/runs"));
}

}  // namespace
