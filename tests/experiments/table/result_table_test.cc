#include "experiments/table/result_table.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

std::vector<std::string> ColumnNames(const ResultTable& table) {
  std::vector<std::string> names;
  for (const LayoutColumn& column : table.columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> RowNames(const ResultTable& table) {
  std::vector<std::string> names;
  for (const ResultTableRow& row : table.rows) names.push_back(row.Name());
  return names;
}

TEST_CASE("the speed-up of ICML 2017 from its own table") {
  ResultRuns runs;
  const std::vector<std::pair<const char*, double>> cells = {{"single_cpu", 26.21},
                                                             {"single_gpu", 4.60},
                                                             {"scotch", 23.41},
                                                             {"min_cut", 24.52},
                                                             {"expert", 10.65},
                                                             {"rl", 3.85}};
  for (const auto& [agent, seconds] : cells) AddRuns(runs, "inception_v3", agent, {seconds});
  const ResultTable table = MakeResultTable(
      LayoutOf(
          "rows: [{label: Inception, graph: inception_v3, published: {rl: 3.85, speedup: 19.0}}]\n"
          "columns:\n"
          "  - {agent: single_cpu}\n  - {agent: single_gpu}\n  - {agent: scotch}\n"
          "  - {agent: min_cut}\n  - {agent: expert}\n  - {agent: rl}\n"
          "  - {name: speedup, unit: percent,\n"
          "     formula: \"min(single_cpu, single_gpu, scotch, min_cut, expert) / rl - 1\"}\n"
          "published: {source: paper, confidence: R}\n"),
      runs);
  REQUIRE(table.rows.size() == 1);
  // 4.60 / 3.85 - 1 = 19.48 %; the paper's recalled 19.0 does not follow exactly.
  CHECK(table.rows[0].cells[6].value == doctest::Approx(19.4805).epsilon(1e-5));
  CHECK_FALSE(table.rows[0].cells[6].interval);
  CHECK(table.rows[0].cells[6].published->value == 19.0);
  CHECK_FALSE(table.rows[0].cells[4].published);
  CHECK(table.rows[0].HasPublished());
  CHECK(table.done == 6);
  CHECK(table.warnings.empty());
}

TEST_CASE("rows by keys, in the order they are found; what is not run has its row") {
  ResultRuns runs;
  AddRuns(runs, "nmt", "rl", {2, 3, 4});
  AddRuns(runs, "rnnlm", "rl", {1});
  runs.runs[1].progress = RunProgress::kNew;
  runs.runs[2].progress = RunProgress::kFailed;
  runs.runs[2].error = "device on fire";
  runs.runs[3].progress = RunProgress::kStopped;
  const ResultTable table =
      MakeResultTable(LayoutOf("rows: [graph, cluster]\ncolumns: [{agent: rl}]"), runs);
  CHECK(table.heads == std::vector<std::string>{"graph", "cluster"});
  CHECK(RowNames(table) == std::vector<std::string>{"nmt 2xk80", "rnnlm 2xk80"});
  const TableCell& cell = table.rows[0].cells[0];
  CHECK(cell.run);
  CHECK(cell.value == doctest::Approx(2));
  CHECK(cell.planned == 3);
  CHECK(cell.done == 1);
  CHECK(cell.failed == 1);
  CHECK(cell.fitting == 1);
  CHECK_FALSE(table.rows[1].cells[0].run);
  CHECK(table.done == 1);
  CHECK(table.failed == 1);
  CHECK(table.left == 2);
  CHECK(table.failures == std::vector<std::string>{"nmt rl 2: device on fire"});
}

TEST_CASE("varying rows: graph, cluster and what else tells runs apart") {
  ResultRuns runs;
  AddRuns(runs, "nmt", "rl", {1});
  AddRuns(runs, "rnnlm", "rl", {2});
  // A value that goes with the graph tells nothing more.
  runs.runs[0].keys["coarsen"] = "[colocate]";
  runs.runs[1].keys["coarsen"] = "[gradients]";
  CHECK(MakeResultTable(LayoutOf("{}"), runs).heads ==
        std::vector<std::string>{"graph", "cluster"});
  runs.runs.push_back(runs.runs[0]);
  runs.runs[2].keys["budget.evaluations"] = "100";
  const ResultTable table = MakeResultTable(LayoutOf("{}"), runs);
  CHECK(table.heads == std::vector<std::string>{"graph", "cluster", "budget.evaluations"});
  CHECK(table.rows.size() == 3);
}

TEST_CASE("agents as columns, the best first") {
  ResultRuns runs;
  for (const auto& [graph, scale] : {std::pair{"a", 1.0}, {"b", 100.0}, {"c", 3.0}}) {
    AddRuns(runs, graph, "oom", {kOom});
    AddRuns(runs, graph, "slow", {3 * scale});
    AddRuns(runs, graph, "fast", {1 * scale, 1 * scale, 1.5 * scale});
    AddRuns(runs, graph, "fine tuned=1", {2 * scale});
  }
  const ResultTable table =
      MakeResultTable(LayoutOf("unit: ms\nclaims:\n"
                               "  - {text: t, confidence: ours, holds: fast < slow}\n"
                               "  - {text: u, confidence: ours, holds: fsat < slow}\n"),
                      runs);
  CHECK(ColumnNames(table) == std::vector<std::string>{"fast", "fine tuned=1", "slow", "oom"});
  CHECK(table.rows[1].cells[0].value == doctest::Approx(100000));
  CHECK(table.rows[1].cells[2].value == doctest::Approx(300000));
  CHECK(table.rows[1].cells[3].value == kOom);
  CHECK(table.claims[0].verdict == Verdict::kHolds);
  CHECK(table.claims[1].verdict == Verdict::kOpen);
  CHECK(table.claims[1].rows[0].missing == std::vector<std::string>{"fsat"});
}

TEST_CASE("a published number of an agent that has not run keeps its column") {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {1});
  const ResultTable table = MakeResultTable(
      LayoutOf("rows: [{graph: a, published: {expert: 2}}]\npublished: {confidence: V}"), runs);
  CHECK(ColumnNames(table) == std::vector<std::string>{"rl", "expert"});
  CHECK(table.rows[0].cells[1].published->value == 2);
  CHECK_FALSE(table.rows[0].cells[1].run);
}

TEST_CASE("the agent may be the row's") {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {1});
  AddRuns(runs, "a", "heft", {2});
  const ResultTable table =
      MakeResultTable(LayoutOf("rows: [graph, agent]\ncolumns: [{name: t}]"), runs);
  CHECK(RowNames(table) == std::vector<std::string>{"a rl", "a heft"});
  CHECK(table.rows[1].cells[0].value == doctest::Approx(2));
}

TEST_CASE("rows of a problem are sorted by a column, claims go with them") {
  ResultRuns runs;
  AddRuns(runs, "b", "oom", {kOom});
  AddRuns(runs, "b", "slow", {3});
  AddRuns(runs, "a", "slow", {2});
  AddRuns(runs, "b", "fast", {1, 1, 2});
  AddRuns(runs, "a", "open", {1});
  AddRuns(runs, "a", "fast", {1});
  runs.runs[6].progress = RunProgress::kNew;
  const std::string claim =
      "claims: [{text: t, confidence: ours, holds: t < 2.5, where: {agent: slow}}]\n";
  const ResultTable table = MakeResultTable(
      LayoutOf("rows: [graph, agent]\nsort: t\ncolumns: [{name: t}]\n" + claim), runs);
  // Problems stay in the order of their runs; what has not run comes last.
  CHECK(RowNames(table) ==
        std::vector<std::string>{"b fast", "b slow", "b oom", "a fast", "a slow", "a open"});
  CHECK(table.rows[0].cells[0].done == 3);
  REQUIRE(table.claims[0].rows.size() == 2);
  CHECK(table.claims[0].rows[0].row == 1);
  CHECK(table.claims[0].rows[0].verdict == Verdict::kDoesNotHold);  // 3 < 2.5
  CHECK(table.claims[0].rows[1].row == 4);
  CHECK(table.claims[0].rows[1].verdict == Verdict::kHolds);  // 2 < 2.5
  // Without agents in the rows all of them are sorted.
  CHECK(RowNames(MakeResultTable(LayoutOf("rows: [graph]\nsort: slow\ncolumns: [{agent: slow}]"),
                                 runs)) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("warnings: an agent that no run has, runs in no row") {
  ResultRuns runs;
  AddRuns(runs, "a", "seq2seq", {1});
  AddRuns(runs, "b", "seq2seq", {1});
  const ResultTable table = MakeResultTable(
      LayoutOf("rows: [{graph: a}, {graph: none}]\ncolumns: [{name: rl, agent: seq2sqe}, {name: "
               "n, agent: seq2sqe, value: evaluations}]"),
      runs);
  REQUIRE(table.warnings.size() == 2);
  CHECK(table.warnings[0] ==
        "no run has the agent \"seq2sqe\"; did you mean \"seq2seq\"? choices: seq2seq");
  CHECK(table.warnings[1] == "1 of 2 runs are not in any row, for example b seq2seq 0");
  CHECK_FALSE(table.rows[0].cells[0].run);
  CHECK(table.rows[0].cells[0].missing == std::vector<std::string>{"seq2sqe"});
  CHECK(table.rows[1].cells[0].planned == 0);
}

TEST_CASE("the same runs give the same table, in whatever order they come") {
  ResultRuns runs;
  AddRuns(runs, "a", "rl", {1, 2, 4, 8, 16, 32, 64});
  const TableLayout layout = LayoutOf("rows: [graph]\ncolumns: [{agent: rl}]");
  const TableCell once = MakeResultTable(layout, runs).rows[0].cells[0];
  std::reverse(runs.runs.begin(), runs.runs.end());
  const TableCell reversed = MakeResultTable(layout, runs).rows[0].cells[0];
  CHECK(once.value == reversed.value);
  CHECK(once.interval->low == reversed.interval->low);
  CHECK(once.interval->high == reversed.interval->high);
}

}  // namespace
