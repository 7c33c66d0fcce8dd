#include "experiments/run/run_results.h"

#include <cmath>

#include <doctest/doctest.h>

#include "agents/registry.h"
#include "framework/results/results_reader.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

LoadedProblem OneOp() {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Op("a", {1000});
  LoadedProblem problem;
  problem.exact = problem.searched = builder.Build();
  return problem;
}

const std::vector<double>& Doubles(const TableColumn& column) {
  return std::get<std::vector<double>>(column.values);
}

TEST_CASE("a search with updates, in the layout of framework/results/FORMAT.md") {
  const TempDir folder;
  const LoadedProblem problem = OneOp();
  const AgentSpec spec{"dice", &AllAgents().Find("random", "test"), {}};
  SearchResult result;
  result.label = SearchLabel(spec, 4);
  result.seed = 4;
  result.status = SearchStatus::kBudget;
  result.steps = 2;
  result.seconds = 0.5;
  // 2 s and 3 s of steps that fit, a step that does not: 11 * 5 s.
  result.records = {
      {.step_time = 2'000'000'000, .best_step_time = 2'000'000'000, .feasible = true},
      {.step_time = 1'000'000'000, .best_step_time = 2'000'000'000},
      {.step_time = 3'000'000'000, .best_step_time = 2'000'000'000, .feasible = true}};
  result.updates = {{"evaluations", "loss"}, {2, -0.25, 3, std::nan("")}};
  {
    ResultsFile file(folder / "r.h5");
    file.WriteStrings("/agents/dice.seed4/checkpoint", {"of an earlier part"});
    WriteSearch(file, problem, spec, 11, result);
    file.Commit();
  }
  const ResultsReader reader(folder / "r.h5");
  const std::string group = "/agents/dice.seed4";
  CHECK(reader.Text(group, "agent") == "random");
  CHECK(reader.Text(group, "status") == "budget");
  CHECK(reader.Int(group, "steps") == 2);
  CHECK(reader.Int(group, "steps_per_measurement") == 11);
  CHECK(reader.Double(group, "hardware_seconds") == 55);
  CHECK(!reader.Has(group + "/checkpoint"));
  const std::vector<TableColumn> updates = reader.Table(group + "/updates");
  REQUIRE(updates.size() == 2);
  CHECK(updates[0].name == "evaluations");
  CHECK(Doubles(updates[0]) == std::vector<double>{2, 3});
  CHECK(updates[1].name == "loss");
  CHECK(Doubles(updates[1])[0] == -0.25);
  CHECK(std::isnan(Doubles(updates[1])[1]));
}

TEST_CASE("no updates: an agent that does not learn, or learnt nothing yet") {
  const TempDir folder;
  const AgentSpec spec{"dice", &AllAgents().Find("random", "test"), {}};
  SearchResult result;
  result.label = "dice";
  ResultsFile file(folder / "r.h5");
  WriteSearch(file, OneOp(), spec, 11, result);
  result.label = "pupil";
  result.updates.columns = {"loss"};
  WriteSearch(file, OneOp(), spec, 11, result);
  file.Commit();
  const ResultsReader reader(folder / "r.h5");
  CHECK(!reader.Has("/agents/dice/updates"));
  CHECK(Doubles(reader.Table("/agents/pupil/updates").at(0)).empty());
}

}  // namespace
