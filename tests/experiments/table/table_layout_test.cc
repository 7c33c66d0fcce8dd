#include "experiments/table/table_layout.h"

#include <cmath>

#include <doctest/doctest.h>

#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const std::string kPaper =
    "title: Table 1\n"
    "unit: s\n"
    "rows:\n"
    "  - {label: \"NMT, 2 GPUs\", graph: nmt, cluster: 2xk80, budget.evaluations: 240,\n"
    "     published: {expert: 4.99, single_gpu: oom, rl: null, speedup: {value: 23.5, "
    "confidence: V}}}\n"
    "  - {graph: rnnlm, cluster: 2xk80}\n"
    "columns:\n"
    "  - {name: speedup, label: speed-up, formula: \"min(single_gpu, expert) / rl - 1\", "
    "unit: percent}\n"
    "  - {name: found, agent: seq2seq, value: evaluations_to, target: 1.01 * rl}\n"
    "  - {name: rl, label: RL, agent: seq2seq, where: {semantics: queue}}\n"
    "  - {agent: expert}\n"
    "  - {agent: single_gpu}\n"
    "published: {source: ICML 2017, confidence: R}\n"
    "claims:\n"
    "  - {text: RL wins, confidence: R, holds: rl < expert, where: {graph: nmt}, in: some}\n";

std::string LayoutRefusal(const std::string& yaml) {
  return MessageOf<InputError>([&] { LayoutOf(yaml); });
}

// The paper's layout with one text replaced.
std::string RefusalWith(const std::string& from, const std::string& to) {
  std::string yaml = kPaper;
  const size_t at = yaml.find(from);
  REQUIRE(at != std::string::npos);
  return LayoutRefusal(yaml.replace(at, from.size(), to));
}

TEST_CASE("a paper's layout") {
  const TableLayout layout = LayoutOf(kPaper);
  CHECK(layout.title == "Table 1");
  REQUIRE(layout.rows.size() == 2);
  CHECK(layout.rows[0].label == "NMT, 2 GPUs");
  CHECK(layout.rows[0].runs == std::vector<RunCondition>{{"graph", "nmt"},
                                                         {"cluster", "2xk80"},
                                                         {"budget.evaluations", "240"}});
  CHECK(layout.rows[1].label == "graph=rnnlm cluster=2xk80");
  const auto& published = layout.rows[0].published;
  CHECK(published.size() == 3);
  CHECK(published.at("expert").value == 4.99);
  CHECK(published.at("expert").confidence == "R");
  CHECK(std::isinf(published.at("single_gpu").value));
  CHECK(published.at("speedup").confidence == "V");

  REQUIRE(layout.columns.size() == 5);
  CHECK(layout.columns[0].unit == "percent");
  CHECK(layout.columns[1].unit == "count");
  CHECK(layout.columns[2].where == std::vector<RunCondition>{{"semantics", "queue"}});
  CHECK(layout.columns[3].name == "expert");
  CHECK(layout.columns[3].unit == "s");
  // Each after those it uses.
  CHECK(layout.order == std::vector<int>{3, 2, 4, 0, 1});
  REQUIRE(layout.claims.size() == 1);
  CHECK(layout.claims[0].in == ClaimScope::kSome);
  CHECK(LayoutOf(layout.yaml).columns.size() == 5);
  CHECK(LayoutOf(layout.yaml).yaml == layout.yaml);
}

TEST_CASE("without anything: what varies, by agent") {
  const TableLayout layout = LayoutOf("{}");
  CHECK(layout.rows.empty());
  CHECK(layout.row_keys.empty());
  CHECK(layout.agents_as_columns);
  CHECK(LayoutOf("rows: [graph, agent]").row_keys == std::vector<std::string>{"graph", "agent"});
}

TEST_CASE("misspelt keys, units, values") {
  CheckHolds(RefusalWith("title:", "titel:"), "t.yaml:1:1: unknown key \"titel\"");
  CheckHolds(RefusalWith("unit: s", "unit: sec"), "t.yaml:2:7");
  CheckHolds(RefusalWith("unit: s", "unit: sec"), "did you mean \"s\"? choices: s, ms, us, ns");
  CheckHolds(RefusalWith("cluster: 2xk80", "clster: 2xk80"), "did you mean \"cluster\"?");
  CheckHolds(RefusalWith("agent: seq2seq, value", "agnet: seq2seq, value"),
             "did you mean \"agent\"?");
  CheckHolds(RefusalWith("evaluations_to", "evaluation_to"),
             "unknown value \"evaluation_to\"; did you mean \"evaluations_to\"?");
  CheckHolds(RefusalWith("unit: percent", "unit: per_cent"), "did you mean \"percent\"?");
  CHECK(
      Holds(RefusalWith("{semantics: queue}", "{semantic: queue}"), "did you mean \"semantics\"?"));
  CheckHolds(RefusalWith("expert: 4.99", "exprt: 4.99"), "did you mean \"expert\"?");
  CheckHolds(RefusalWith("expert: 4.99", "expert: fast"), "published.expert: expected");
  CheckHolds(RefusalWith("confidence: V", "confidence: W"),
             "unknown confidence \"W\"; did you mean \"V\"? choices: V, R, ?, ours");
  CheckHolds(RefusalWith("published: {source: ICML 2017, confidence: R}", "note: x"),
             "a published number needs a confidence");
  CheckHolds(LayoutRefusal("columns: agent"), "did you mean \"agents\"?");
  CheckHolds(LayoutRefusal("rows: vary"), "varying");
  CheckHolds(LayoutRefusal("rows: [grpah]"), "did you mean \"graph\"?");
  CheckHolds(LayoutRefusal("rows: [graph, graph]"), "is listed twice");
  CheckHolds(LayoutRefusal("rows: []"), "expected at least one row");
  CheckHolds(LayoutRefusal("columns: []"), "expected at least one column");
  CheckHolds(LayoutRefusal("rows: [{label: all}]"), "expected a key that selects runs");
}

TEST_CASE("columns and formulas") {
  CheckHolds(RefusalWith("/ rl - 1", "/ lr - 1"), "t.yaml:8:47");
  CheckHolds(RefusalWith("/ rl - 1", "/ lr - 1"), "unknown column \"lr\"; did you mean \"rl\"?");
  CheckHolds(RefusalWith("- {agent: expert}", "- {agent: single_gpu}"),
             "there are two columns \"single_gpu\"");
  CheckHolds(RefusalWith("name: rl,", "name: r l,"), "\"r l\" cannot be used in formulas");
  CheckHolds(RefusalWith("name: rl,", "name: min,"), "\"min\" cannot be used in formulas");
  CheckHolds(RefusalWith(", target: 1.01 * rl", ""), "expected target: FORMULA");
  CheckHolds(RefusalWith("value: evaluations_to", "value: seconds"), "expected target: FORMULA");
  CheckHolds(RefusalWith("value: evaluations_to, target: 1.01 * rl", "value: seconds_to"),
             "expected target: FORMULA with value: evaluations_to, seconds_to, "
             "expected_evaluations_to, expected_seconds_to or reached");
  CheckHolds(RefusalWith("value: evaluations_to, target: 1.01 * rl", "value: reached"),
             "expected target: FORMULA");
  CheckHolds(RefusalWith("unit: percent}", "unit: percent, agent: x}"),
             "does not apply to columns with a formula");
  CheckHolds(RefusalWith("{agent: expert}", "{name: expert}"), "expected agent: LABEL");
  CheckHolds(RefusalWith("{agent: expert}", "{label: expert}"), "expected a name");
  CHECK(
      Holds(RefusalWith("{agent: expert}", "{agent: expert, unit: ms}"), "step_time is in s here"));
  CheckHolds(LayoutRefusal("columns:\n  - {name: a, formula: b + 1}\n  - {name: b, formula: c}\n"
                           "  - {name: c, formula: 2 * a}\n"),
             "columns depend on one another: a needs b needs c needs a");
  CheckHolds(LayoutRefusal("columns: [{name: a, formula: a}]"),
             "columns depend on one another: a needs a");
  // The row says whose step time it is.
  CHECK(LayoutOf("rows: [graph, agent]\ncolumns: [{name: t}]").columns.size() == 1);
  CHECK(LayoutOf("rows: [{graph: g, agent: heft}]\ncolumns: [{name: t}]").columns.size() == 1);
}

TEST_CASE("rows are sorted by a column of the layout") {
  CHECK(LayoutOf("rows: [graph, agent]\nsort: t\ncolumns: [{name: t}]").sort == "t");
  CheckHolds(LayoutRefusal("rows: [graph, agent]\nsort: s\ncolumns: [{name: t}]"),
             "t.yaml:2:7: sort: unknown column \"s\"; did you mean \"t\"? choices: t");
  CheckHolds(LayoutRefusal("sort: rl"), "t.yaml:1:7: sort: expected a list of columns with sort");
}

TEST_CASE("units of what has a target") {
  const TableLayout layout = LayoutOf(
      "unit: ms\ncolumns:\n  - {agent: rl}\n"
      "  - {name: n, agent: rl, value: expected_evaluations_to, target: 1.01 * rl}\n"
      "  - {name: s, agent: rl, value: expected_seconds_to, target: 1.01 * rl}\n"
      "  - {name: share, agent: rl, value: reached, target: 1.01 * rl}\n");
  CHECK(layout.columns[1].unit == "count");
  CHECK(layout.columns[2].unit == "s");
  CHECK(layout.columns[3].unit == "percent");
}

TEST_CASE("claims") {
  CheckHolds(RefusalWith("rl < expert", "rl < exprt"), "did you mean \"expert\"?");
  CheckHolds(RefusalWith("rl < expert", "rl"), "expected one comparison");
  CHECK(
      Holds(RefusalWith("in: some", "in: all"), "unknown in \"all\"; choices: every, some, most"));
  CheckHolds(RefusalWith("where: {graph: nmt}", "where: {graph: nmt8}"),
             "{graph: nmt8} matches no row");
  CheckHolds(RefusalWith("text: RL wins, confidence: R", "text: RL wins"),
             "expected confidence: \"V\", \"R\", \"?\", \"ours\"");
  CheckHolds(RefusalWith("text: RL wins, ", ""), "expected text");
  CheckHolds(RefusalWith("in: some", "in: some, of: speedup"),
             "unknown column of a step time \"speedup\"; choices: rl, expert, single_gpu");
  CheckHolds(LayoutRefusal("rows: [graph]\nclaims: [{text: t, confidence: V, holds: a < b, where: "
                           "{cluster: c}}]"),
             "unknown key of the rows \"cluster\"; choices: graph");
}

TEST_CASE("the help names every key") {
  std::string keys;
  for (const FieldHelp& field : DescribeTableLayout()) keys += field.key + " ";
  CHECK(keys == "title note unit rows columns sort published claims ");
}

}  // namespace
