// What the commands that add to results refuse, and who else may add to them meanwhile.

#include "experiments/sweep/run_store.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "experiments/sweep/run_board.h"
#include "framework/base/error.h"
#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

struct StoredRun {
  TempDir folder;
  fs::path file = folder / "r.h5";

  StoredRun() {
    WriteText(folder / "g.json", LayeredJson(40));
    WriteText(folder / "c.yaml", ClusterYaml());
    WriteText(folder / "small.yaml",
              "graph: g.json\ncluster: c.yaml\nagents: [single_gpu, heft]\n");
    REQUIRE(Run({"run", "small.yaml", "-o", "r.h5"}).exit_code == 0);
  }
  ProcessResult Run(std::vector<std::string> arguments) const {
    arguments.emplace_back("--quiet");
    return RunEmplace(arguments, {.folder = folder.path()});
  }
};

TEST_CASE("certify and stress refuse a run that they cannot extend, and the file stays") {
  const StoredRun run;
  std::vector<std::string> fragments;
  const auto change = [&](const auto& how) {
    ResultsFile file(run.file, ResultsMode::kExtend);
    how(file);
    file.Commit();
  };
  SUBCASE("its graph has moved") {
    fs::rename(run.folder / "g.json", run.folder / "moved.json");
    fragments = {"its graph", "g.json does not exist any more; name it with --graph"};
    CHECK(run.Run({"stress", "r.h5", "--draws", "2", "--graph", "moved.json"}).exit_code == 0);
    CHECK(run.Run({"certify", "r.h5", "--seconds", "0", "--graph", "moved.json"}).exit_code == 0);
  }
  SUBCASE("its costs have changed") {
    std::string graph = LayeredJson(40);
    graph.insert(graph.find("\"g\": ") + 5, "9");
    WriteText(run.folder / "g.json", graph);
    fragments = {"was made with another version of the costs; name the right files with --graph"};
  }
  SUBCASE("no placement") {
    change([](ResultsFile& file) {
      for (const char* agent : {"single_gpu", "heft"}) {
        file.Remove(std::string("/agents/") + agent + "/best");
      }
    });
    fragments = {"no agent of this run found a placement"};
  }
  SUBCASE("a newer version") {
    change([](ResultsFile& file) { file.SetAttribute("/", "version", kResultsVersion + 1); });
    fragments = {"version"};
  }
  SUBCASE("damaged") {
    std::string bytes = ReadText(run.file);
    bytes[bytes.size() / 2] ^= 1;
    WriteText(run.file, bytes);
    fragments = {"damaged"};
  }
  fragments.emplace_back("r.h5");
  const std::string before = ReadText(run.file);
  for (const char* command : {"certify", "stress"}) {
    CheckRefused(run.Run({command, "r.h5"}), 2, fragments);
    CHECK(ReadText(run.file) == before);
  }
}

// Why a store is refused; "" if it is not.
std::string Refusal(const std::vector<fs::path>& results) {
  try {
    const RunStore store(results);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST_CASE("other files and folders are refused before a lock is made in them") {
  const TempDir folder;
  fs::create_directory(folder / "empty");
  CHECK(Refusal({folder / "empty"}) ==
        (folder / "empty").string() +
            ": holds no sweep.yaml; expected the folder of a sweep, or results files");
  CHECK(fs::is_empty(folder / "empty"));
  WriteText(folder / "notes.txt", "no results");
  fs::create_directory(folder / ".notes.txt.lock");  // so that there can be no lock
  CHECK(Refusal({folder / "notes.txt"}) ==
        (folder / "notes.txt").string() + ": not a results file of emplace (HDF5), or incomplete");
  CHECK(Contains(Refusal({folder / "none.h5"}), "none.h5"));
}

TEST_CASE("a results file is locked once, by whichever name, and is free again afterwards") {
  const StoredRun run;
  const fs::path link = run.folder / "link.h5", other = run.folder / "other.h5";
  fs::create_symlink("r.h5", link);
  fs::copy_file(run.file, other);
  {
    const RunStore store({run.file, link, run.file});
    CHECK(Contains(Refusal({link}), "link.h5: is being written by process "));
    CHECK(Refusal({other}) == "");
  }
  CHECK(Refusal({run.file}) == "");
}

TEST_CASE("the runs of a sweep are guarded by the lock of its folder") {
  const SweepFiles files(5);
  REQUIRE(files.Run({"-o", "out", "--quiet"}).exit_code == 0);
  const fs::path sweep = files.folder / "out", first = sweep / "runs/0000.h5",
                 second = sweep / "runs/0001.h5";
  SUBCASE("a folder \"runs\" that is no sweep's is a folder like any other") {
    WriteText(sweep / "sweep.yaml", "format: something\n");
    const RunStore store({first});
    CHECK(Refusal({second}) == "");
    CHECK(Contains(Refusal({first}), "0000.h5: is being written by process "));
  }
  SUBCASE("a sweep") {
    const SweepFolder folder(sweep, SweepFiles::kRuns);
    {
      const RunStore store({first, sweep, second});
      for (const fs::path& one : {first, second, sweep}) {
        CHECK(Contains(Refusal({one}), "out: another emplace is running in it (process "));
      }
      CHECK_THROWS_AS(FolderLock{folder}, InputError);
    }
    {
      const FolderLock running(folder);
      CHECK(Contains(Refusal({first}), "out: another emplace is running in it (process "));
    }
    CHECK(Refusal({first}) == "");
    // A worker of a batch system has a run claimed, and nobody the folder.
    RunBoard board(folder.board(), SweepFiles::kRuns);
    const auto claim = board.Claim(1);
    REQUIRE(claim);
    CHECK(Contains(Refusal({first}), "out: workers of a killed sweep still write to it"));
  }
}

}  // namespace
