#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiments/commands.h"
#include "experiments/config_help.h"
#include "experiments/output.h"
#include "experiments/table/layout_menu.h"
#include "experiments/table/table_formats.h"
#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace {

struct Options {
  std::vector<std::string> paths, settings;
  std::string layout, format = "md", output;
  bool claims = false, help_layout = false;
};

TableLayout LayoutFor(const ResultRuns& runs, const Options& options) {
  if (!options.layout.empty()) {
    return FindTableLayout(options.layout, "--layout", {}, options.settings);
  }
  return FindTableLayout(
      runs.layout ? runs.layout->string() : "agents", "table", {}, options.settings);
}

std::string Format(const ResultTable& table, const Options& options) {
  if (options.format == "csv") return TableCsv(table);
  if (options.format == "tex") return TableTex(table);
  if (options.format == "json") return TableJson(table);
  return TableMarkdown(table) + (options.claims ? "\n" + ClaimsMarkdown(table) : "");
}

int MakeTable(const Options& options) {
  static const std::vector<std::string> kFormats = {"md", "csv", "tex", "json"};
  if (std::count(kFormats.begin(), kFormats.end(), options.format) == 0) {
    ThrowUnknown("--format", "format", options.format, kFormats);
  }
  if (options.claims && options.format != "md" && options.format != "json") {
    throw InputError(fmt::format("--claims: goes with md or json, not {}", options.format));
  }
  const ResultRuns runs = ReadResultRuns({options.paths.begin(), options.paths.end()});
  const TableLayout layout = LayoutFor(runs, options);
  if (options.claims && layout.claims.empty()) {
    throw InputError("--claims: the layout has no claims; name one that has with --layout");
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

void AddTableCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "table", "A table of results: medians, intervals, the papers' numbers, their claims");
  command
      ->add_option(
          "results", options->paths, "folder of a sweep (it may be running), or results files")
      ->type_name("DIR|FILE");
  command
      ->add_option("--layout",
                   options->layout,
                   "a name of `emplace list layouts`, a sweep that brings one, or a path; without: "
                   "that of the sweep, else agents")
      ->type_name("NAME|PATH");
  command->add_option("--format", options->format, "md, csv, tex or json")->capture_default_str();
  command->add_flag(
      "--claims", options->claims, "whether the layout's claims hold (json always says)");
  command->add_option("-o,--output", options->output, "instead of the terminal")->type_name("FILE");
  command->add_option("--set", options->settings, "replace a key of the layout, as in unit=ms")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--help-layout", options->help_layout, "print every key of a layout");
  command->callback([=, &action] {
    if (options->help_layout) {
      action = [] {
        Print(FormatConfigHelp("a table layout", DescribeTableLayout()));
        return 0;
      };
      return;
    }
    if (options->paths.empty()) throw CLI::RequiredError("results");
    action = [options] { return MakeTable(*options); };
  });
}

}  // namespace emplace
