#include "experiments/table/table_formats.h"

#include <cmath>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/experiments/table/result_runs.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

// Two rows; every kind of cell. The baselines have no seeds, the RL agent three in each row.
ResultTable MakeTable() {
  ResultRuns runs;
  AddRuns(runs, "nmt", "single_gpu", {kOom});
  AddRuns(runs, "nmt", "expert", {4.99});
  AddRuns(runs, "nmt", "rl", {4.04, 3.92, 4.5});
  AddRuns(runs, "rnnlm", "single_gpu", {1.57});
  AddRuns(runs, "rnnlm", "rl", {1.6, kOom, 1.57});
  runs.runs.push_back(MakeRun("rnnlm", "rl", 3, 0));
  runs.runs.back().progress = RunProgress::kFailed;
  runs.runs.back().error = "100 % of \"it\" failed";
  runs.sources = {"results/mine"};
  for (ResultRun& run : runs.runs) run.uses_seed = run.agent == "rl";
  return MakeResultTable(
      LayoutOf(
          "title: Table 1 & more\n"
          "note: K80s [ours]\n"
          "rows:\n"
          "  - {label: \"NMT | 2_GPUs\", graph: nmt, published: {single_gpu: oom, expert: 4.90, "
          "speedup: {value: 23.5, confidence: V}}}\n"
          "  - {label: \"RNNLM, 2\", graph: rnnlm}\n"
          "columns:\n"
          "  - {agent: single_gpu, label: single GPU}\n"
          "  - {agent: expert}\n"
          "  - {name: rl, agent: rl, label: RL}\n"
          "  - {name: speedup, label: speed-up, formula: \"min(single_gpu, expert) / rl - 1\", "
          "unit: percent}\n"
          "  - {name: ratio, formula: single_gpu / single_gpu, unit: ratio}\n"
          "published: {source: ICML 2017, confidence: R}\n"
          "claims:\n"
          "  - {text: RL beats the expert, confidence: R, holds: rl < expert, where: {graph: "
          "nmt}}\n"
          "  - {text: RL is best, confidence: \"?\", holds: \"rl <= min(single_gpu, expert)\"}\n"
          "  - {text: the GPU fits, confidence: V, holds: single_gpu < 2, in: some}\n"),
      runs);
}

TEST_CASE("cells of bounds, gaps and proofs") {
  const LayoutColumn optimal{"o", "o", "count", ColumnValue::kOptimal};
  CHECK(FormatCellNumber(1, optimal) == "yes");
  CHECK(FormatCellNumber(0, optimal) == "no");
  CHECK(FormatCellNumber(0.5, optimal) == "0.5");
  const LayoutColumn gap{"g", "g", "percent", ColumnValue::kGap};
  CHECK(FormatCellNumber(12.34, gap) == "12.3");
  CHECK(FormatCellNumber(kOom, gap) == "OOM");
  TableCell cell;
  cell.run = true;
  cell.value = kOom;
  CHECK(CellState(cell, gap) == "oom");
  CHECK(FormatCellNumber(442.44, {"b", "b", "ms", ColumnValue::kBound}) == "442.4");
}

TEST_CASE("Markdown: ours and theirs in lines of their own") {
  CHECK(TableMarkdown(MakeTable()) ==
        "## Table 1 & more\n"
        "\n|               | source        | single GPU [s] | expert [s] |                         "
        "              RL [s] |      speed-up [%] | ratio |\n"
        "|---------------|---------------|---------------:|-----------:|---------------------------"
        "------------------:|------------------:|------:|\n"
        "| NMT \\| 2_GPUs | simulated     |            OOM |      4.990 |                         "
        "4.040 [3.920, 4.500] | 23.5 [10.9, 27.3] |     – |\n"
        "|               | published [R] |            OOM |       4.90 |                           "
        "                   |          23.5 [V] |       |\n"
        "| RNNLM, 2      | simulated     |          1.570 |    not run | 1.600 [1.570, OOM] (2 of "
        "3 fit) (3 of 4 run) |           not run |  1.00 |\n"
        "\nSimulated: median over 3 seeds [range of the seeds, which contains the median of all "
        "possible seeds with probability 75 %]; OOM: no placement found fits; –: undefined.\n"
        "\nIntervals of formulas, shares and expected numbers: range over 10000 resamples of the "
        "seeds, with no known level.\n"
        "\nPublished: ICML 2017; [R]: recalled, not checked against the text; [V]: verified "
        "against the text.\n"
        "\nK80s [ours]\n"
        "\nRuns: 9 of 10 done, 1 failed, 0 not yet.\n"
        "\nFailed: rnnlm rl 3: 100 % of \"it\" failed\n");
}

TEST_CASE("claims in Markdown") {
  CHECK(ClaimsMarkdown(MakeTable()) ==
        "### Claims\n"
        "\n"
        "- **holds** [R] RL beats the expert (`rl < expert` in every row): 1 of 1 rows, in 100.0 % "
        "of resamples of 3 seeds\n"
        "  - NMT \\| 2_GPUs: 4.04 < 4.99 holds, in 100.0 % of resamples of 3 seeds\n"
        "- **open** [?] RL is best (`rl <= min(single_gpu, expert)` in every row): 1 of 2 rows\n"
        "  - NMT \\| 2_GPUs: 4.04 <= 4.99 holds, in 100.0 % of resamples of 3 seeds\n"
        "  - RNNLM, 2: open, not run: expert\n"
        "- **holds** [V] the GPU fits (`single_gpu < 2` in some rows): 1 of 2 rows\n"
        "  - NMT \\| 2_GPUs: ∞ < 2 does not hold\n"
        "  - RNNLM, 2: 1.57 < 2 holds\n");
}

TEST_CASE("the best known is of all runs, whose number is no number of seeds") {
  ResultRuns runs;
  AddRuns(runs, "nmt", "rl", {4, 5, 6});
  AddRuns(runs, "nmt", "search", {3, 3, 3, 3});
  const std::string text = TableMarkdown(MakeResultTable(
      LayoutOf("rows: [graph]\ncolumns: [{agent: rl}, {name: known, value: best_known}]"), runs));
  CheckHolds(text, "Simulated: median over 3 seeds [");
}

TEST_CASE("claims that do not hold tell what was possible") {
  ResultRuns runs;
  AddRuns(runs, "nmt", "rl", {4});
  AddRuns(runs, "nmt", "search", {3});
  for (ResultRun& run : runs.runs) run.bound.value = 2'000'000'000;
  const auto text = [&](const std::string& holds) {
    return ClaimsMarkdown(
        MakeResultTable(LayoutOf("rows: [graph]\ncolumns: [{agent: rl}]\nclaims: [{text: t, "
                                 "confidence: V, of: rl, holds: " +
                                 holds + "}]"),
                        runs));
  };
  CHECK(text("rl < 3.5") ==
        "### Claims\n\n- **not reached** [V] t (`rl < 3.5` in every row): 0 of 1 rows\n"
        "  - nmt: 4 < 3.5 does not hold; best known: 3 < 3.5, bound: 2 < 3.5: possible\n");
  CheckHolds(text("rl < 2.5"), "**does not hold, not known to be possible here** [V] t");
  CheckHolds(text("rl < 1.5"), "**does not hold, not possible here** [V] t");
  CheckHolds(text("rl < 1.5"), "best known: 3 < 1.5, bound: 2 < 1.5: not possible\n");
  CheckHolds(text("rl < 5"),
             "**holds** [V] t (`rl < 5` in every row): 1 of 1 rows\n  - nmt: 4 < 5 "
             "holds\n");
}

TEST_CASE("LaTeX") {
  const std::string tex = TableTex(MakeTable());
  for (const char* part :
       {"\\begin{table}\n  \\centering\n  \\caption{Table 1 \\& more. Simulated: median over 3 "
        "seeds",
        "with probability 75 \\%]; OOM: no placement found fits; --:\n    undefined.",
        "rnnlm rl 3: 100 \\% of \"it\" failed.}\n  \\begin{tabular}{llrrrrr}\n  \\toprule\n"
        "   & source & single GPU [s] & expert [s] & RL [s] & speed-up [\\%] & ratio \\\\\n",
        "  NMT | 2\\_GPUs & simulated & OOM & 4.990 & 4.040 {\\scriptsize [3.920, 4.500]} &\n"
        "    23.5 {\\scriptsize [10.9, 27.3]} & -- \\\\\n"
        "   & published [R] & OOM & 4.90 &  & 23.5 [V] &  \\\\\n",
        "  \\bottomrule\n  \\end{tabular}\n\\end{table}\n"}) {
    CheckHolds(tex, part);
  }
}

TEST_CASE("CSV: a line per row, column and source") {
  const std::string csv = TableCsv(MakeTable());
  const std::vector<std::string> lines = {
      "row,column,label,unit,source,confidence,state,value,low,high,seeds,fitting,failed,planned,"
      "interval,interval_level,interval_seeds",
      "NMT | 2_GPUs,single_gpu,single GPU,s,simulated,,oom,inf,,,1,0,0,1,,,",
      "NMT | 2_GPUs,single_gpu,single GPU,s,published,R,oom,inf,,,,,,,,,",
      "NMT | 2_GPUs,expert,expert,s,published,R,number,4.9,,,,,,,,,",
      "NMT | 2_GPUs,speedup,speed-up,percent,published,V,number,23.5,,,,,,,,,",
      "NMT | 2_GPUs,ratio,ratio,ratio,simulated,,undefined,,,,,,,,,,",
      "\"RNNLM, 2\",expert,expert,s,simulated,,not run,,,,0,0,0,0,,,",
      "\"RNNLM, 2\",rl,RL,s,simulated,,number,1.6,1.57,inf,3,2,1,4,range,0.75,3",
  };
  for (const std::string& line : lines) CheckHolds("\n" + csv, "\n" + line + "\n");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 10 + 3);
}

TEST_CASE("names are text, whatever they hold") {
  const std::string name = "<script>a</script> | [b](javascript:c) \\| \r\n\n# =d";
  ResultRuns runs;
  AddRuns(runs, "nmt", "expert", {4.99});
  ResultTable table = MakeResultTable(
      LayoutOf("rows: [{label: r, graph: nmt}]\ncolumns: [{agent: expert}]\n"), runs);
  table.title = name;
  table.rows[0].heads[0] = name;
  table.columns[0].label = name;
  const std::string markdown = TableMarkdown(table);
  CHECK(markdown.find('<') == std::string::npos);
  CHECK(markdown.find("](") == std::string::npos);
  CheckHolds(markdown, "&lt;script>a&lt;/script> \\| [b]\\(javascript:c) \\\\\\|    # =d");
  const std::string tex = TableTex(table);
  CheckHolds(tex, "\\textbackslash{}|    \\# =d");
  CHECK(tex.find("\n\n") == std::string::npos);
  table.rows[0].heads[0] = "=cmd()";
  CheckHolds(TableCsv(table), "\n'=cmd(),");
}

TEST_CASE("JSON holds everything") {
  const auto json = nlohmann::json::parse(TableJson(MakeTable()));
  CHECK(json["format"] == "emplace-table");
  CHECK(json["columns"][3]["unit"] == "percent");
  CHECK(json["columns"][3]["value"] == "formula");
  const auto& nmt = json["rows"][0]["cells"];
  CHECK(nmt["single_gpu"]["state"] == "oom");
  CHECK(nmt["single_gpu"]["median"].is_null());
  CHECK(nmt["single_gpu"]["published"]["state"] == "oom");
  CHECK(nmt["rl"]["median"] == doctest::Approx(4.04));
  CHECK(nmt["rl"]["low"] == doctest::Approx(3.92));
  CHECK(nmt["rl"]["interval"] == "range");
  CHECK(nmt["rl"]["interval_level"] == 0.75);
  CHECK(nmt["rl"]["interval_seeds"] == std::vector<int>{3, 3});
  CHECK(nmt["speedup"]["interval"] == "range");
  CHECK(nmt["speedup"]["interval_level"].is_null());
  CHECK(nmt["expert"]["interval"].is_null());
  CHECK(nmt["rl"]["seeds"] == 3);
  CHECK(nmt["rl"]["published"].is_null());
  CHECK(nmt["speedup"]["published"]["value"] == 23.5);
  CHECK(nmt["speedup"]["published"]["confidence"] == "V");
  const auto& rnnlm = json["rows"][1]["cells"];
  CHECK(rnnlm["rl"]["high"] == "inf");
  CHECK(rnnlm["speedup"]["state"] == "not run");
  CHECK(rnnlm["speedup"]["missing"] == std::vector<std::string>{"expert"});
  CHECK(json["published"]["source"] == "ICML 2017");
  CHECK(json["claims"][0]["verdict"] == "holds");
  CHECK(json["claims"][0]["seeds"] == std::vector<int>{3, 3});
  CHECK(json["claims"][2]["seeds"].is_null());
  CHECK(json["claims"][1]["share"].is_null());
  CHECK(json["claims"][2]["rows"][0]["left"] == "inf");
  CHECK(json["runs"]["failed"] == 1);
  CHECK(json["failures"][0] == "rnnlm rl 3: 100 % of \"it\" failed");
  CHECK(json["legend"] == LegendOf(MakeTable()));
  CHECK(json["sources"][0] == "results/mine");
}

TEST_CASE("without published numbers there is no column for the source") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {0.5});
  CHECK(TableMarkdown(MakeResultTable(LayoutOf("{}"), runs)) ==
        "| graph | cluster | rl [s] |\n"
        "|-------|---------|-------:|\n"
        "| g     | 2xk80   | 0.5000 |\n"
        "\n"
        "Simulated: median over one seed.\n");
}

// A table of one agent with so many seeds in each row.
std::string LegendOfSeeds(const std::vector<int>& seeds) {
  ResultRuns runs;
  for (size_t row = 0; row < seeds.size(); ++row) {
    std::vector<double> seconds(seeds[row]);
    for (int i = 0; i < seeds[row]; ++i) seconds[i] = 1 + i;
    AddRuns(runs, "g" + std::to_string(row), "rl", seconds);
  }
  const TableLayout layout = LayoutOf("rows: [graph]\ncolumns: [{agent: rl}]");
  return LegendOf(MakeResultTable(layout, runs)).at(0);
}

TEST_CASE("the legend names intervals by the seeds that they rest on") {
  const std::string range =
      "range of the seeds, which contains the median of all possible seeds with probability ";
  const std::string bootstrap = "95 % interval of the median, bootstrap of 10000 resamples";
  CHECK(LegendOfSeeds({1}) == "Simulated: median over one seed.");
  CHECK(LegendOfSeeds({2, 2}) == "Simulated: median over 2 seeds [" + range + "50 %].");
  CHECK(LegendOfSeeds({5, 1, 4}) ==
        "Simulated: median over 1 to 5 seeds [" + range + "87.5 % for 4 seeds, 93.8 % for 5].");
  CHECK(LegendOfSeeds({6}) == "Simulated: median over 6 seeds [" + bootstrap + "].");
  CHECK(LegendOfSeeds({7, 3}) == "Simulated: median over 3 to 7 seeds [" + bootstrap +
                                     "; below 6 seeds " + range + "75 % for 3 seeds].");
}

TEST_CASE("constants have no interval that would repeat them") {
  ResultRuns runs;
  AddRuns(runs, "g", "rl", {0.8, 0.80001});
  for (ResultRun& run : runs.runs) run.evaluations = 800;
  const ResultTable table =
      MakeResultTable(LayoutOf("unit: ms\nrows: [graph]\ncolumns: [{agent: rl}, {name: n, agent: "
                               "rl, value: evaluations}]"),
                      runs);
  CHECK(TableMarkdown(table) ==
        "| graph | rl [ms] |   n |\n"
        "|-------|--------:|----:|\n"
        "| g     |   800.0 | 800 |\n"
        "\n"
        "Simulated: median over 2 seeds.\n");
  CHECK(table.rows[0].cells[0].interval->high == doctest::Approx(800.01));
}

TEST_CASE("durations have their units with them") {
  const LayoutColumn hours{"h", "on hardware", "h", ColumnValue::kHardwareHours};
  CHECK(FormatCellNumber(0.0000903, hours) == "325.1 ms");  // 0.0000903 h x 3600 s
  CHECK(FormatCellNumber(0.01, hours) == "36.0 s");
  CHECK(FormatCellNumber(0.5, hours) == "30.0 min");
  CHECK(FormatCellNumber(27, hours) == "27.0 h");
  CHECK(FormatCellNumber(0, hours) == "0.0 s");
  CHECK(FormatCellNumber(kOom, hours) == "∞");
  CHECK(HeadOf(hours) == "on hardware");
  const LayoutColumn seconds{"s", "search", "s", ColumnValue::kSeconds};
  CHECK(FormatCellNumber(0.000258, seconds) == "258.0 us");
  CHECK(FormatCellNumber(150, seconds) == "2.5 min");
  CHECK(HeadOf(seconds) == "search");
  TableCell cell;
  cell.run = true;
  cell.value = 0.5;
  cell.interval = {.low = 0.25, .high = 2};
  CHECK(DescribeCell(cell, hours).interval == "[15.0 min, 2.0 h]");
  const ResultTable table;
  CHECK(FormatPublished({27, "27", ""}, hours, table) == "27 h");
  CHECK(FormatPublished({27, "27", "V"}, hours, table) == "27 h [V]");
}

TEST_CASE("lines of LaTeX are short") {
  ResultRuns runs;
  std::string columns;
  for (int i = 0; i < 12; ++i) {
    const std::string agent = "agent_" + std::to_string(i);
    AddRuns(runs, "nmt", agent, {1, 2, 3});
    columns += (i > 0 ? ", {agent: " : "{agent: ") + agent + "}";
  }
  const std::string tex =
      TableTex(MakeResultTable(LayoutOf("rows: [graph]\ncolumns: [" + columns + "]"), runs));
  std::istringstream lines(tex);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
    CHECK(line.find_first_not_of(' ') != std::string::npos);
  }
  CHECK(std::count(tex.begin(), tex.end(), '&') == 2 * 12);  // of the head and of a row
}

TEST_CASE("numbers for people") {
  const auto text = [](double value, const std::string& unit, ColumnValue kind) {
    return FormatCellNumber(value, {"x", "x", unit, kind});
  };
  const auto time = [&](double value) { return text(value, "ms", ColumnValue::kStepTime); };
  CHECK(time(12345.6) == "12346");
  CHECK(time(123.456) == "123.5");
  CHECK(time(0.00123456) == "0.001235");
  CHECK(time(0) == "0");
  CHECK(time(kOom) == "OOM");
  const auto formula = [&](double value, const std::string& unit) {
    return text(value, unit, ColumnValue::kFormula);
  };
  CHECK(formula(-0.04, "percent") == "0.0");
  CHECK(formula(-4.25, "percent") == "-4.2");
  CHECK(formula(kOom, "percent") == "∞");
  CHECK(formula(-kOom, "ratio") == "-∞");
  CHECK(formula(kOom, "s") == "OOM");
  CHECK(formula(std::nan(""), "s") == "–");
  CHECK(formula(6.1234, "ratio") == "6.12");
  CHECK(text(402, "count", ColumnValue::kEvaluationsTo) == "402");
  CHECK(text(402.5, "count", ColumnValue::kEvaluationsTo) == "402.5");
  CHECK(text(kOom, "count", ColumnValue::kEvaluationsTo) == "not reached");
  CHECK(text(kOom, "s", ColumnValue::kSecondsTo) == "not reached");
  CHECK(text(0.402, "s", ColumnValue::kSecondsTo) == "0.402");
  CHECK(text(6.5, "count", ColumnValue::kExpectedEvaluationsTo) == "6.5");
  CHECK(text(kOom, "s", ColumnValue::kExpectedSecondsTo) == "not reached");
  CHECK(text(0, "percent", ColumnValue::kReached) == "0.0");
  CHECK(text(kOom, "s", ColumnValue::kBestKnown) == "OOM");
  CHECK(text(1.5, "ratio", ColumnValue::kSpeedUp) == "1.50");
  CHECK(text(0, "ratio", ColumnValue::kSpeedUp) == "OOM");
}

TEST_CASE("what is expected says how many seeds reach it, the share does not repeat it") {
  TableCell cell;
  cell.run = true;
  cell.value = 6.5;
  cell.done = cell.planned = 3;
  cell.fitting = 2;
  const LayoutColumn expected{"e", "e", "count", ColumnValue::kExpectedEvaluationsTo};
  CHECK(DescribeCell(cell, expected).note == "(2 of 3 reach it)");
  CHECK(DescribeCell(cell, {"r", "r", "percent", ColumnValue::kReached}).note.empty());
  ResultTable table;
  table.columns = {expected};
  CHECK(LegendOf(table).at(1).starts_with("Expected: total cost of all seeds"));
  table.columns[0].value = ColumnValue::kEvaluationsTo;
  CHECK(LegendOf(table).size() == 1);
}

}  // namespace
