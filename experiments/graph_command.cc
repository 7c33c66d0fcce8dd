#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "experiments/commands.h"
#include "experiments/graph_info.h"
#include "experiments/load.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/passes.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

struct Options {
  std::string file, output, dot, cluster;
  std::vector<std::string> passes;
  bool json = false;
};

std::shared_ptr<const Graph> Load(const Options& options) {
  return LoadGraph(ResolveMenu(GraphMenu(), options.file, "graph"));
}

int Info(const Options& options) {
  const auto graph = Load(options);
  const GraphInfo info = DescribeGraph(*graph);
  Print(options.json ? FormatGraphInfoJson(*graph, info) : FormatGraphInfo(*graph, info));
  return 0;
}

int Validate(const Options& options) {
  const auto graph = Load(options);
  Print(fmt::format(
      "{}: valid, {} ops, {} tensors\n", graph->name(), graph->num_ops(), graph->num_tensors()));
  return 0;
}

void RequireExtension(const std::string& path,
                      const std::vector<std::string>& extensions,
                      const std::string& where) {
  for (const std::string& extension : extensions) {
    if (path.ends_with(extension)) return;
  }
  throw InputError(fmt::format("{}: cannot tell the format of \"{}\"; choices: {}",
                               where,
                               path,
                               fmt::join(extensions, ", ")));
}

int Convert(const Options& options) {
  RequireExtension(options.output, {".json", ".json.gz", ".dot"}, "convert");
  const auto graph = Load(options);
  if (options.output.ends_with(".dot")) {
    WriteFileAtomically(options.output, FormatDot(*graph, Grouping::Identity(graph->num_ops())));
  } else {
    WriteGraph(*graph, options.output);
  }
  return 0;
}

// What an op weighs without a cluster: its roofline time on a device of 10 TFLOP/s and 1 TB/s [s].
std::vector<double> NominalWeights(const Graph& graph) {
  std::vector<double> weight;
  for (const Op& op : graph.ops()) {
    const double bytes = static_cast<double>(op.bytes_accessed);
    weight.push_back(op.IsStorage() ? 0 : std::max(op.flops / 1e13, bytes / 1e12));
  }
  return weight;
}

int Coarsen(const Options& options) {
  if (!options.output.empty()) RequireExtension(options.output, {".json", ".json.gz"}, "-o");
  std::vector<Pass> passes;
  for (const std::string& text : options.passes) {
    passes.push_back(ParsePass(ConfigNode::FromString(text, "--pass")));
  }
  const auto graph = Load(options);
  std::vector<double> weight = NominalWeights(*graph);
  if (!options.cluster.empty()) {
    const auto cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
    weight = BestDeviceCosts(ComputeCosts(*graph, *cluster, options.file));
  }
  std::vector<std::vector<std::string>> rows = {{"pass", "groups"},
                                                {"(single ops)", std::to_string(graph->num_ops())}};
  const Grouping grouping =
      ApplyPasses(*graph, passes, weight, [&](const Pass& pass, const Grouping& now) {
        rows.push_back({pass.name, std::to_string(now.num_groups())});
      });
  if (!options.dot.empty()) WriteFileAtomically(options.dot, FormatDot(*graph, grouping));
  if (!options.output.empty()) WriteGraph(ContractGroups(*graph, grouping).graph, options.output);
  Print(FormatColumns(rows));
  Print(fmt::format("between groups: {}\n", IsAcyclic(*graph, grouping) ? "no cycle" : "cycles"));
  return 0;
}

CLI::App* AddPart(CLI::App& parent,
                  const std::string& name,
                  const std::string& sentence,
                  const std::shared_ptr<Options>& options) {
  CLI::App* part = parent.add_subcommand(name, sentence);
  part->add_option("file", options->file, "graph: a name of `emplace list graphs` or a path")
      ->required();
  return part;
}

}  // namespace

void AddGraphCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("graph", "Look into, check, convert or coarsen a graph file");
  command->require_subcommand(1);
  const auto runs = [&action, options](CLI::App* part, int (*body)(const Options&)) {
    part->callback(
        [&action, options, body] { action = [options, body] { return body(*options); }; });
  };

  CLI::App* info =
      AddPart(*command, "info", "Counts by phase and kind, parameters, bytes, FLOPs", options);
  info->add_flag("--json", options->json, "as JSON");
  runs(info, Info);

  runs(AddPart(*command, "validate", "Exit code 0 if the file is a valid graph, 2 if not", options),
       Validate);

  CLI::App* convert =
      AddPart(*command, "convert", "Write a graph as .json, .json.gz or .dot", options);
  convert->add_option("output", options->output, "file to write")->required();
  runs(convert, Convert);

  CLI::App* coarsen =
      AddPart(*command, "coarsen", "Apply coarsening passes, tell the groups left", options);
  coarsen
      ->add_option("--pass",
                   options->passes,
                   "a pass as in a run config: colocate, gradients, \"single_consumer: {max_share: "
                   "0.1}\", \"scope: {depth: 2}\", \"cheapest: {groups: 128}\", \"heavy_edge: "
                   "{groups: 128}\"; repeat for several")
      ->type_name("PASS")
      ->allow_extra_args(false)
      ->required();
  coarsen->add_option("--cluster",
                      options->cluster,
                      "weigh ops by their cost on their best device of this cluster; without it by "
                      "FLOPs and bytes");
  coarsen->add_option("--dot", options->dot, "write the groups for Graphviz");
  coarsen->add_option(
      "-o,--output", options->output, "write the contracted graph (an approximation)");
  runs(coarsen, Coarsen);
}

}  // namespace emplace
