#include "experiments/report/learning_updates.h"

#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/sweep_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

TEST_CASE("every update is a point where they are few") {
  const UpdateTable updates{{"evaluations", "loss"}, {10, 0.123456, 20, std::nan("")}};
  CHECK(UpdatesJson(updates, 2) == Json::parse(R"({"update": [1, 2],
                        "values": {"evaluations": [10, 20], "loss": [0.12346, null]}})"));
}

TEST_CASE("a point of many updates is their mean, and the last number of evaluations") {
  // Five updates in at most two points: three and two in a row.
  // loss: (3 + 5) / 2 = 4 without the NaN, (1 + 2) / 2 = 1.5
  const UpdateTable updates{{"loss", "evaluations"},
                            {3, 10, std::nan(""), 20, 5, 30, 1, 40, 2, 50}};
  CHECK(
      UpdatesJson(updates, 2) ==
      Json::parse(R"({"update": [3, 5], "values": {"loss": [4, 1.5], "evaluations": [30, 50]}})"));
  CHECK(UpdatesJson(UpdateTable{}, 2) == Json::parse(R"({"update": [], "values": {}})"));
}

TEST_CASE("the updates of each seed, and none of an agent that does not learn") {
  const TempDir folder;
  WriteText(folder / "g.json", LayeredJson(12));
  WriteText(folder / "c.yaml", ClusterYaml("1GiB"));
  WriteText(folder / "r.yaml",
            "graph: g.json\ncluster: c.yaml\nagents: [heft, seq2seq]\nseeds: 0:2\n"
            "budget: {evaluations: 60, seconds: none}\n");
  const ProcessResult run =
      RunEmplace({"run", "r.yaml", "-o", "r.h5", "--quiet"}, {.folder = folder.path()});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const ResultRuns results = ReadResultRuns({folder / "r.h5"});
  const ProblemRuns problem = GroupByProblem(results).front();
  CHECK(AgentUpdatesJson(problem, "heft").is_null());
  const Json learner = AgentUpdatesJson(problem, "seq2seq");
  const ResultsReader reader(folder / "r.h5");
  REQUIRE(learner["seeds"].size() == 2);
  for (const Json& seed : learner["seeds"]) {
    const std::string dataset =
        "/agents/seq2seq.seed" + std::to_string(seed["seed"].get<int>()) + "/updates";
    const auto table = reader.Table(dataset);
    REQUIRE(learner["columns"].size() == table.size());
    const auto& entropy = ColumnOf<double>(table, "entropy", dataset);
    REQUIRE(seed["values"]["entropy"].size() == entropy.size());
    CHECK(seed["update"].back() == entropy.size());
    for (size_t i = 0; i < entropy.size(); ++i) {
      CHECK(seed["values"]["entropy"][i].get<double>() ==
            doctest::Approx(entropy[i]).epsilon(1e-4));
    }
  }
}

}  // namespace
