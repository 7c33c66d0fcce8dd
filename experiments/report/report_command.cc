#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/report/placement_picture.h"
#include "experiments/report/report_data.h"
#include "experiments/report/report_page.h"
#include "experiments/table/layout_menu.h"
#include "experiments/table/table_formats.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

struct ReportOptions {
  std::vector<std::string> inputs;
  std::string output, title, placement, layout, trace, dot;
  RunFiles files;
  bool no_graph = false;
};

fs::path OutputPath(const ReportOptions& options) {
  if (!options.output.empty()) return options.output;
  fs::path first = options.inputs[0];
  if (fs::is_directory(first)) return first / "report.html";
  return first.replace_extension(".html");
}

std::string PageTitle(const ReportOptions& options) {
  if (!options.title.empty()) return options.title;
  const fs::path first = fs::absolute(options.inputs[0]).lexically_normal();
  const fs::path name = first.has_filename() ? first : first.parent_path();
  return name.stem().string();
}

// Refuses options for a single problem if there are several.
void RequireOneProblem(const ReportOptions& options, const std::vector<ProblemRuns>& problems) {
  if (problems.size() == 1) return;
  const auto refuse = [&](const std::string& option) {
    throw InputError(
        fmt::format("{}: applies to one problem, but the results hold {}: {}, {}{}; name the "
                    "results file of one problem",
                    option,
                    problems.size(),
                    problems[0].title,
                    problems[1].title,
                    problems.size() > 2 ? ", ..." : ""));
  };
  if (IsPlacementFile(options.placement)) refuse("--placement " + options.placement);
  if (!options.trace.empty()) refuse("--trace");
  if (!options.dot.empty()) refuse("--dot");
  if (!options.files.graph.empty()) refuse("--graph");
  if (!options.files.cluster.empty()) refuse("--cluster");
  if (!options.files.costs.empty()) refuse("--costs");
}

void RequireAgent(const std::string& agent,
                  const std::vector<ProblemRuns>& problems,
                  const ResultRuns& results) {
  if (agent.empty() || IsPlacementFile(agent)) return;
  std::vector<std::string> choices;
  for (const ProblemRuns& problem : problems) {
    if (problem.Best(agent) != nullptr) return;
  }
  for (const ResultRun& run : results.runs) {
    if (run.progress != RunProgress::kDone) continue;
    for (const std::string& label : {run.agent, LabelOf(run)}) {
      if (std::find(choices.begin(), choices.end(), label) == choices.end()) {
        choices.push_back(label);
      }
    }
  }
  ThrowUnknown("--placement", "agent", agent, choices);
}

Json LevelsJson(const DrawnPlacement& drawn) {
  Json levels = Json::array();
  const Graph& graph = drawn.ops->graph();
  for (const DrawingLevel& level :
       MakeDrawingLevels(*drawn.problem.exact, drawn.device_of_op, drawn.weight)) {
    Json json = LevelJson(graph, level, drawn.device_of_op, drawn.ops->num_devices(), drawn.weight);
    if (json.is_null()) {
      PrintWarning(fmt::format("{}: leaves out {}, because dot takes too long to lay them out",
                               graph.name(),
                               level.name));
    } else {
      levels.push_back(std::move(json));
    }
  }
  return levels;
}

// Returns the coarsest drawing in the format of `dot`, for other tools.
std::string CoarsestDot(const DrawnPlacement& drawn) {
  const Graph& graph = drawn.ops->graph();
  const auto levels = MakeDrawingLevels(*drawn.problem.exact, drawn.device_of_op, drawn.weight);
  const Grouping& nodes = levels.front().nodes;
  return FormatDot(
      graph,
      nodes,
      DevicesOfNodes(graph, nodes, drawn.device_of_op, drawn.ops->num_devices(), drawn.weight),
      drawn.ops->cluster().DeviceNames());
}

Json TableOf(const ReportOptions& options, const ResultRuns& results) {
  std::string name = options.layout;
  if (name.empty() && results.layout) name = results.layout->string();
  if (name.empty()) return nullptr;
  const std::string where = options.layout.empty() ? name : "--layout";
  return Json::parse(TableJson(MakeResultTable(FindTableLayout(name, where), results)));
}

int WriteReport(const ReportOptions& options) {
  const ResultRuns results = ReadResultRuns({options.inputs.begin(), options.inputs.end()});
  const std::vector<ProblemRuns> problems = GroupByProblem(results);
  RequireOneProblem(options, problems);
  RequireAgent(options.placement, problems, results);
  const std::string title = PageTitle(options);
  Json report = ReportHeadJson(results, title);
  report["table"] = TableOf(options, results);
  report["problems"] = Json::array();
  GraphList graphs;
  for (const ProblemRuns& problem : problems) {
    const auto drawn = DrawPlacement(problem, options.placement, options.files);
    if (!drawn) {
      report["problems"].push_back(ProblemJson(problem, nullptr, graphs, nullptr));
      continue;
    }
    if (!options.trace.empty()) {
      WriteFileAtomically(options.trace, FormatTrace(*drawn->ops, drawn->timeline));
    }
    if (!options.dot.empty()) WriteFileAtomically(options.dot, CoarsestDot(*drawn));
    Json levels = options.no_graph ? Json(nullptr) : LevelsJson(*drawn);
    report["problems"].push_back(ProblemJson(problem, &*drawn, graphs, std::move(levels)));
  }
  report["graphs"] = graphs.json();
  const fs::path output = OutputPath(options);
  const std::string page = FormatReport(title, report);
  WriteFileAtomically(output, page);
  Print(fmt::format(
      "report   {} ({})\n", output.string(), FormatBytes(static_cast<std::int64_t>(page.size()))));
  return 0;
}

}  // namespace

void AddReportCommand(Command program) {
  auto options = std::make_shared<ReportOptions>();
  Command command = program.AddCommand(
      "report", "Write an HTML page about a run or a sweep, with numbers, curves and placements");
  command.Add("results", options->inputs, "folder of a sweep, or results files of runs")
      .Type("DIR|RESULT.h5...")
      .Required();
  command.Add("-o,--output",
              options->output,
              "file to write; default: report.html in the folder, or beside the first file");
  command.Add("--title", options->title, "title of the page; default: name of the results");
  command.Add("--placement",
              options->placement,
              "placement to draw: the best one of an agent (its label, or LABEL.seedN), or a "
              "placement file (.json); default: the best of each problem");
  command.Add(
      "--layout",
      options->layout,
      "table to show: a name of `emplace list layouts` or a path; default: the sweep's own");
  command.Add("--trace",
              options->trace,
              "also write the timeline for Chrome's or Perfetto's viewer (JSON) to this file");
  command.Add(
      "--dot",
      options->dot,
      "also write the coarsest drawing of the placed graph for Graphviz (DOT) to this file");
  command.AddFlag(
      "--no-graph", options->no_graph, "leave out the drawn graph, which needs dot of Graphviz");
  command.Add("--graph", options->files.graph, "the graph, if its file has moved");
  command.Add("--cluster", options->files.cluster, "the cluster, if its file has moved");
  command.Add("--costs", options->files.costs, "measured costs, if their file has moved");
  command.Footer(
      "The page needs no network and no other file. Its address keeps the problem and the other "
      "choices; tables are saved as CSV, pictures as SVG. A sweep may still be running: unfinished "
      "runs are counted and left out.");
  command.Does([options] { return WriteReport(*options); });
}

}  // namespace emplace
