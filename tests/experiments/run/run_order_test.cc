#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/base/json.h"
#include "framework/results/results_reader.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/experiments/run_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("an issue order that a search has set is kept with its placement") {
  const RunFiles files;
  std::vector<std::string> how = {"--json", "-o", "r.h5"};
  for (const char* setting : {"graph=gpt2_mini_torch",
                              "cluster=2xk80",
                              "agents=[{name: order_search, start: [random]}]",
                              "semantics=stream",
                              "priority=searched",
                              "budget.evaluations=3000"}) {
    how.insert(how.end(), {"--set", setting});
  }
  const ProcessResult result = files.Run(how);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const ResultsReader reader(files.folder / "r.h5");
  const std::vector<std::string> labels = reader.Children("/agents");
  CHECK(std::ranges::any_of(labels, [&](const std::string& label) {
    return reader.Has("/agents/" + label + "/best/issue_order");
  }));
  const auto run = [&](const std::vector<std::string>& arguments) {
    const ProcessResult done = RunEmplace(arguments, {.folder = files.folder.path()});
    CAPTURE(done.err);
    REQUIRE(done.exit_code == 0);
    return done.out;
  };
  const Json best = Json::parse(result.out)["agents"][0]["step_time_ns"]["min"];
  const auto simulated = [&](const std::string& placement) {
    return Json::parse(run({"simulate",
                            "--graph",
                            "gpt2_mini_torch",
                            "--cluster",
                            "2xk80",
                            "--semantics",
                            "stream",
                            "--placement",
                            placement}))["step_time_ns"];
  };
  CHECK(simulated("r.placement.json") == best);
  run({"export", "r.h5", "--to", "json", "-o", "exported.json"});
  CHECK(simulated("exported.json") == best);
  run({"report", "r.h5", "--no-graph"});
  CHECK(ReadText(files.folder / "r.html").find("\"step_time_ns\":" + best.dump()) !=
        std::string::npos);
  // A resumed run searches nothing more and writes the placement again.
  std::filesystem::remove(files.folder / "r.placement.json");
  std::vector<std::string> again = how;
  again.insert(again.end(), {"--resume", "--quiet"});
  REQUIRE(files.Run(again).exit_code == 0);
  CHECK(simulated("r.placement.json") == best);
}

TEST_CASE("priority searched refuses groups, and without it a run keeps no order") {
  const RunFiles files;
  const ProcessResult grouped = files.Run(
      {"--set", "semantics=stream", "--set", "priority=searched", "--set", "simulate_groups=true"});
  CHECK(grouped.exit_code == 2);
  CHECK(
      grouped.err.find("priority searched does not apply to simulate_groups: true, which replaces "
                       "the ops of the graph; choices: id, upward_rank") != std::string::npos);
  REQUIRE(files.Run({"--set", "agents=[order_search]", "--set", "semantics=stream", "-o", "id.h5"})
              .exit_code == 0);
  const ResultsReader reader(files.folder / "id.h5");
  for (const std::string& label : reader.Children("/agents")) {
    CHECK_FALSE(reader.Has("/agents/" + label + "/best/issue_order"));
  }
}

TEST_CASE("a run by upward rank says so, and its placement brings the order along") {
  const RunFiles files;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(),
                {"--set", "semantics=stream", "--set", "agents=[hill_climb]", "--json"});
    const ProcessResult result = files.Run(more);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.out);
  };
  const auto simulate = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"simulate",
                                          "--graph",
                                          "g.json",
                                          "--cluster",
                                          "c.yaml",
                                          "--semantics",
                                          "stream",
                                          "--placement",
                                          name + ".placement.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(RunEmplace(arguments, {.folder = files.folder.path()}).out)["step_time_ns"];
  };
  const auto least = [](const Json& table) {
    return table["agents"][0]["step_time_ns"]["min"].get<std::int64_t>();
  };
  const Json table = run({"-o", "rank.h5", "--set", "priority=upward_rank"});
  CHECK(table["priority"] == "upward_rank");
  CHECK(simulate("rank", {}) == least(table));
  CHECK(simulate("rank", {"--priority", "given"}) == least(table));
  CHECK(simulate("rank", {"--priority", "upward_rank"}) == least(table));
  CHECK(Json::parse(ReadText(files.folder / "rank.placement.json"))["issue_order"].size() == 60);
  const auto problem = Hdf5Text(files.folder / "rank.h5", "/problem");
  CHECK(std::ranges::any_of(problem, [](const std::string& line) {
    return line.find("priority: upward_rank") != std::string::npos;
  }));
  CHECK(files.Run({"--set", "semantics=stream", "--set", "priority=upward_rank", "-o", "text.h5"})
            .out.find("model    stream semantics with priority upward_rank, step time\n") !=
        std::string::npos);

  // Another run takes the order of the file over, and finds the same.
  const Json again = run(
      {"-o", "given.h5", "--set", "priority=given", "--set", "issue_order=rank.placement.json"});
  CHECK(again["priority"] == "given");
  CHECK(least(again) == least(table));

  // By id nothing is added. Contracted graphs are ordered by their own ranks.
  CHECK(run({"-o", "id.h5"})["priority"] == "id");
  CHECK_FALSE(Json::parse(ReadText(files.folder / "id.placement.json")).contains("issue_order"));
  for (const std::string& line : Hdf5Text(files.folder / "id.h5", "/problem")) {
    CHECK(line.find("priority") == std::string::npos);
    CHECK(line.find("issue_order") == std::string::npos);
  }
  run({"-o",
       "small.h5",
       "--set",
       "priority=upward_rank",
       "--set",
       "simulate_groups=true",
       "--set",
       "coarsen=[single_consumer]"});
  CHECK(Json::parse(ReadText(files.folder / "small.placement.json"))["issue_order"].size() == 60);
}

}  // namespace
