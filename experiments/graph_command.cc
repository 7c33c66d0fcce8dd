#include <algorithm>

#include <fmt/format.h>

#include "experiments/commands.h"
#include "experiments/graph_info.h"
#include "experiments/load.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/passes.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/cost/coarsened_costs.h"
#include "framework/cost/cost_model.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

struct GraphOptions {
  std::string file, output, dot, cluster;
  std::vector<std::string> passes;
  bool json = false;
};

std::shared_ptr<const Graph> Load(const GraphOptions& options) {
  return LoadGraph(ResolveMenu(GraphMenu(), options.file, "graph"));
}

int Info(const GraphOptions& options) {
  const auto graph = Load(options);
  const GraphInfo info = DescribeGraph(*graph);
  Print(options.json ? FormatGraphInfoJson(*graph, info) : FormatGraphInfo(*graph, info));
  return 0;
}

int Validate(const GraphOptions& options) {
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

int Convert(const GraphOptions& options) {
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

int Coarsen(const GraphOptions& options) {
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

Command AddPart(Command parent,
                const std::string& name,
                const std::string& sentence,
                const std::shared_ptr<GraphOptions>& options) {
  Command part = parent.AddCommand(name, sentence);
  part.Add("file", options->file, "graph: a name of `emplace list graphs` or a path").Required();
  return part;
}

}  // namespace

void AddGraphCommand(Command program) {
  auto options = std::make_shared<GraphOptions>();
  Command command = program.AddCommand("graph", "Describe, check, convert or coarsen a graph file");
  const auto runs = [options](Command part, int (*body)(const GraphOptions&)) {
    part.Does([options, body] { return body(*options); });
  };

  Command info =
      AddPart(command, "info", "Counts by phase and kind, parameters, bytes, FLOPs", options);
  info.AddFlag("--json", options->json, "as JSON");
  runs(info, Info);

  runs(AddPart(command, "validate", "Exit code 0 if the file is a valid graph, 2 if not", options),
       Validate);

  Command convert =
      AddPart(command, "convert", "Write a graph as .json, .json.gz or .dot", options);
  convert.Add("output", options->output, "file to write").Required();
  runs(convert, Convert);

  Command coarsen = AddPart(
      command, "coarsen", "Apply coarsening passes; prints how many groups each leaves", options);
  coarsen
      .Add("--pass",
           options->passes,
           "a pass as in a run config: colocate, gradients, \"single_consumer: {max_share: "
           "0.1}\", \"scope: {depth: 2}\", \"cheapest: {groups: 128}\", \"heavy_edge: "
           "{groups: 128}\"; repeat for several")
      .Type("PASS")
      .OneAtATime()
      .Required();
  coarsen.Add("--cluster",
              options->cluster,
              "weigh ops by their cost on their best device of this cluster; without it by "
              "FLOPs and bytes");
  coarsen.Add("--dot", options->dot, "write the groups for Graphviz");
  coarsen.Add("-o,--output", options->output, "write the contracted graph (an approximation)");
  runs(coarsen, Coarsen);
}

}  // namespace emplace
