#include <algorithm>

#include <fmt/format.h>

#include "experiments/commands.h"
#include "experiments/console/config_help.h"
#include "experiments/console/output.h"
#include "experiments/table/layout_menu.h"
#include "experiments/table/table_formats.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace {

// Printed below the keys.
constexpr const char* kLayoutExample = R"(
# Example: mine.yaml, for `emplace table results/quick --layout ./mine.yaml`.
# A row per graph and cluster, the step times of two agents, their ratio, and a
# claim for --claims. More of them: configs/layouts (`emplace list layouts`) and
# the key `table` in configs/papers.
#
#   title: Local search against one GPU
#   unit: ms
#   rows: [graph, cluster]
#   columns:
#     - {name: one, label: one GPU, agent: single_gpu}
#     - {name: search, label: hill climbing, agent: hill_climb}
#     - {name: evaluations, agent: hill_climb, value: evaluations}
#     - {name: speed_up, label: speed-up, formula: one / search, unit: ratio}
#   claims:
#     - {text: search beats one GPU, confidence: ours, holds: search < one}
)";

struct TableOptions {
  std::vector<std::string> paths, settings;
  std::string layout, format = "md", output;
  bool claims = false, help_layout = false;
};

TableLayout LayoutFor(const ResultRuns& runs, const TableOptions& options) {
  if (!options.layout.empty()) {
    return FindTableLayout(options.layout, "--layout", {}, options.settings);
  }
  return FindTableLayout(
      runs.layout ? runs.layout->string() : "agents", "table", {}, options.settings);
}

std::string Format(const ResultTable& table, const TableOptions& options) {
  if (options.format == "csv") return TableCsv(table);
  if (options.format == "tex") return TableTex(table);
  if (options.format == "json") return TableJson(table);
  return TableMarkdown(table) + (options.claims ? "\n" + ClaimsMarkdown(table) : "");
}

int MakeTable(const TableOptions& options) {
  static const std::vector<std::string> kFormats = {"md", "csv", "tex", "json"};
  if (std::count(kFormats.begin(), kFormats.end(), options.format) == 0) {
    ThrowUnknown("--format", "format", options.format, kFormats);
  }
  if (options.claims && options.format != "md" && options.format != "json") {
    throw InputError(
        fmt::format("--claims: applies to the formats md and json, not to {}", options.format));
  }
  const ResultRuns runs = ReadResultRuns({options.paths.begin(), options.paths.end()});
  const TableLayout layout = LayoutFor(runs, options);
  if (options.claims && layout.claims.empty()) {
    throw InputError("--claims: the layout has no claims; name a layout with claims by --layout");
  }
  const ResultTable table = MakeResultTable(layout, runs);
  for (const std::string& warning : table.warnings) PrintWarning(warning);
  const std::string text = Format(table, options);
  if (options.output.empty()) {
    Print(text);
  } else {
    WriteFileAtomically(options.output, text);
  }
  return 0;
}

}  // namespace

void AddTableCommand(Command program) {
  auto options = std::make_shared<TableOptions>();
  Command command = program.AddCommand(
      "table", "Print a table of results: medians, intervals, the papers' numbers and claims");
  command.Add("results", options->paths, "folder of a sweep (it may be running), or results files")
      .Type("DIR|FILE");
  command
      .Add("--layout",
           options->layout,
           "a name of `emplace list layouts`, a sweep that has a layout, or a path; default: "
           "that of the sweep, else agents")
      .Type("NAME|PATH");
  command.Add("--format", options->format, "md, csv, tex or json").ShowDefault();
  command.AddFlag(
      "--claims", options->claims, "report whether the layout's claims hold (json always does)");
  command.Add("-o,--output", options->output, "file to write; default: stdout").Type("FILE");
  command.Add("--set", options->settings, "replace a key of the layout, as in unit=ms")
      .Type("KEY=VALUE")
      .OneAtATime();
  command.AddFlag("--help-layout", options->help_layout, "print every key of a layout");
  command.Does([options, command] {
    if (options->help_layout) {
      Print(FormatConfigHelp("a table layout", DescribeTableLayout()));
      Print(kLayoutExample);
      return 0;
    }
    if (options->paths.empty()) command.ThrowMissing("results");
    return MakeTable(*options);
  });
}

}  // namespace emplace
