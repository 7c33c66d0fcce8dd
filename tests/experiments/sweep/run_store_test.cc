// What the commands that add to results refuse, before they change a file.

#include "experiments/sweep/run_store.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/layered_graph.h"
#include "tests/experiments/program_files.h"
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
    fragments = {"its graph", "g.json is not there any more; name it with --graph"};
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

}  // namespace
