// Who may add to results: a lock per file, and one for all runs of a sweep.

#include "experiments/sweep/results_lock.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "experiments/console/output.h"
#include "experiments/sweep/run_board.h"
#include "framework/base/error.h"
#include "tests/experiments/program_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

// Why a lock is refused; "" if it is not.
std::string Refusal(const std::vector<fs::path>& results) {
  try {
    const ResultsLock lock(results);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST_CASE("a results file is locked once, by whichever name, and is free again afterwards") {
  const TempDir folder;
  const fs::path file = folder / "r.h5", link = folder / "link.h5";
  WriteText(file, "results");
  fs::create_symlink("r.h5", link);
  {
    const ResultsLock lock({file, link, file});
    CHECK(Contains(Refusal({link}), "link.h5: is being written by process "));
    CHECK(Refusal({folder / "other.h5"}) == "");
  }
  CHECK(Refusal({file}) == "");
}

TEST_CASE("the runs of a sweep are guarded by the lock of its folder") {
  const TempDir folder;
  const fs::path sweep = folder / "out", first = sweep / "runs/0000.h5",
                 second = sweep / "runs/0001.h5";
  fs::create_directories(sweep / "runs");
  for (const fs::path& run : {first, second}) WriteText(run, "results");

  SUBCASE("a folder \"runs\" that is no sweep's is a folder like any other") {
    WriteText(sweep / "sweep.yaml", "format: something\n");
    const ResultsLock lock({first});
    CHECK(Refusal({second}) == "");
    CHECK(Contains(Refusal({first}), "0000.h5: is being written by process "));
  }
  SUBCASE("a sweep") {
    WriteText(sweep / "sweep.yaml", "# x\nformat: emplace-sweep\nversion: 1\n");
    {
      const ResultsLock lock({first, sweep, second});
      for (const fs::path& one : {first, second, sweep}) {
        CHECK(Contains(Refusal({one}), "out: another emplace is running in it (process "));
      }
      CHECK_THROWS_AS(FolderLock(SweepFolder(sweep, 2)), InputError);
    }
    {
      const FolderLock running(SweepFolder(sweep, 2));
      CHECK(Contains(Refusal({first}), "out: another emplace is running in it (process "));
    }
    CHECK(Refusal({first}) == "");
    // A worker of a batch system has a run claimed, and nobody the folder.
    RunBoard board(sweep / "board", 2);
    const auto claim = board.Claim(1);
    REQUIRE(claim);
    CHECK(Contains(Refusal({first}), "out: workers of a sweep that was killed still write in it"));
  }
}

}  // namespace
