#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/run_files.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("ctrl-C ends the search, keeps what was found and fails the run") {
  const RunFiles files;
  const ProcessResult result = files.Run({"--set",
                                          "agents=[heft, random]",
                                          "--set",
                                          "seeds=[0]",
                                          "--set",
                                          "budget={evaluations: none, seconds: 1000}",
                                          "--jobs",
                                          "1",
                                          "-o",
                                          "cut.h5"},
                                         {.interrupt_when = "#0 heft",
                                          .interrupt_delay_ms = 300,  // the other has begun
                                          .timeout_seconds = 60});
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("emplace: stopped: 1 of 2 searches were interrupted") != std::string::npos);
  CHECK(result.out.find("heft") != std::string::npos);
  bool found = false;
  for (const std::string& line : Hdf5Text(files.folder / "cut.h5", "/agents")) {
    found = found || line == "@status: stopped ";
  }
  CHECK(found);
}

TEST_CASE("a search that ctrl-C came before is neither done nor one that does not fit") {
  const RunFiles files;
  const std::vector<std::string> how = {"--set",
                                        "agents=[random]",
                                        "--set",
                                        "budget={evaluations: none, seconds: 1000}",
                                        "--jobs",
                                        "1",
                                        "--json",  // the header on stderr
                                        "-o",
                                        "cut.h5"};
  const ProcessResult result =
      files.Run(how, {.interrupt_when = "best single device", .interrupt_delay_ms = 300});
  CHECK(result.exit_code == 1);
  CAPTURE(result.err);
  CHECK(result.err.find("searching: 0/2 (0 %)") != std::string::npos);
  CHECK(result.err.find("/2 (100 %)") == std::string::npos);
  CHECK(result.err.find("stopped: 1 of 2 searches were interrupted, 1 did not start; their results "
                        "are in cut.h5") != std::string::npos);
  const Json row = Json::parse(result.out)["agents"][0];
  CHECK(row["runs"] == 1);
  CHECK(row["fitting"] == 1);
  CHECK(row["not_begun"] == 1);
  const ResultsReader reader(files.folder / "cut.h5");
  CHECK(reader.Children("/agents") == std::vector<std::string>{"random.seed0"});
}

TEST_CASE("ctrl-C ends the one step of a construction on a large graph" *
          doctest::skip(kUnderSanitizers)) {
  const RunFiles files;
  WriteText(files.folder / "large.json", LayeredJson(300'000));
  for (const std::string agent : {"heft", "etf"}) {
    CAPTURE(agent);
    const std::string agents =
        fmt::format("agents=[{{label: one, name: {0}}}, {{label: two, name: {0}}}]", agent);
    const ProcessResult result = files.Run(
        {"--set",
         "graph=./large.json",
         "--set",
         agents,
         "--jobs",
         "1",
         "--json",
         "-o",
         agent + ".h5"},
        {.interrupt_when = "best single device", .interrupt_delay_ms = 50});  // --json: on stderr
    CHECK(result.exit_code == 1);
    CHECK(result.err.find("emplace: stopped: 1 of 2 searches were interrupted, 1 did not start") !=
          std::string::npos);
    CHECK(result.seconds_interrupted > 0);
    const std::vector<std::string> texts = Hdf5Text(files.folder / (agent + ".h5"), "/agents/one");
    CHECK(std::count(texts.begin(), texts.end(), "@status: stopped ") == 1);
  }
}

}  // namespace
