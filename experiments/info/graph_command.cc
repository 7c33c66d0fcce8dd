#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/info/graph_info.h"
#include "experiments/problem/coarsening_passes.h"
#include "experiments/problem/load.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/coarsened_costs.h"
#include "framework/graph/graph_io.h"
#include "framework/instances/instance.h"
#include "framework/instances/max_load.h"
#include "framework/instances/planted.h"
#include "framework/instances/task_graph.h"
#include "framework/placement/placement.h"
#include "framework/search/costed_problem.h"

namespace emplace {
namespace {

struct GraphOptions {
  std::string file, output, dot, cluster, from;
  std::vector<std::string> passes;
  int devices = 0;
  bool json = false, strict = false;
  PlantedOptions planted;
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
  const std::filesystem::path path = ResolveMenu(GraphMenu(), options.file, "graph");
  const auto graph = LoadGraph(path, options.strict);
  std::shared_ptr<const Cluster> cluster;
  if (!options.cluster.empty()) {
    cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
  }
  CheckDeviceKinds(*graph, cluster.get(), path.string(), options.strict);
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
  throw InputError(fmt::format("{}: the format of \"{}\" is unknown; choices: {}",
                               where,
                               path,
                               fmt::join(extensions, ", ")));
}

std::string ReplaceExtension(const std::string& graph, const std::string& extension) {
  return graph.substr(0, graph.rfind(".json")) + extension;
}

// Writes the graph to its path, and the cluster and the known schedule beside it.
void WriteInstance(const Instance& instance, const std::string& path) {
  std::string optimum;
  std::vector<std::string> files{path, ReplaceExtension(path, ".cluster.yaml")};
  WriteGraph(instance.graph, files[0]);
  WriteFileAtomically(files[1], FormatCluster(instance.cluster));
  if (!instance.device_of_op.empty()) {
    files.push_back(ReplaceExtension(path, ".placement.json"));
    WriteFileAtomically(
        files.back(),
        FormatPlacement(
            instance.device_of_op, instance.graph, instance.cluster, instance.issue_order));
  }
  if (instance.optimum) {
    optimum = fmt::format("; optimum {} ns{}",
                          *instance.optimum,
                          instance.without_contention ? " if messages never waited" : "");
  }
  Print(fmt::format("{}: {} ops, {} devices{}\nwrote {}\n",
                    instance.graph.name(),
                    instance.graph.num_ops(),
                    instance.cluster.num_devices(),
                    optimum,
                    fmt::join(files, ", ")));
}

template <auto parse>
Instance ReadTaskGraph(const GraphOptions& options) {
  const std::string name = std::filesystem::path(options.file).stem().string();
  const TaskGraph tasks = parse(ReadFile(options.file), name, options.file);
  if (options.devices == 0 && tasks.processors == 0) {
    throw InputError(fmt::format("{}: the number of processors is missing; give it with --devices",
                                 options.file));
  }
  return MakeInstance(
      tasks, options.devices > 0 ? options.devices : tasks.processors, options.file);
}

Instance ReadMaxLoadFile(const GraphOptions& options) {
  if (options.devices > 0) {
    throw InputError(
        fmt::format("--devices: {} already gives the number of devices", options.file));
  }
  const std::string name = std::filesystem::path(options.file).stem().string();
  return ReadMaxLoad(ReadFile(options.file), name, options.file);
}

// The formats of instances that `convert` reads: the name, which is also the extension of those
// files that have one, and the reader.
struct InstanceFormat {
  const char* name;
  Instance (*read)(const GraphOptions&);
};
constexpr InstanceFormat kInstanceFormats[] = {
    {"stg", ReadTaskGraph<ParseStg>},
    {"dot", ReadTaskGraph<ParseWeightedDot>},
    {"max_load", ReadMaxLoadFile},
};

// Returns the format of the input of `convert`; nullptr for a graph file.
const InstanceFormat* InputFormat(const GraphOptions& options) {
  std::vector<std::string> choices{"graph"};
  for (const InstanceFormat& format : kInstanceFormats) {
    choices.push_back(format.name);
    if (options.from.empty() ? options.file.ends_with(std::string(".") + format.name)
                             : options.from == format.name) {
      return &format;
    }
  }
  if (options.from.empty() || options.from == "graph") return nullptr;
  ThrowUnknown("--from", "format", options.from, choices);
}

int Convert(const GraphOptions& options) {
  if (const InstanceFormat* format = InputFormat(options)) {
    RequireExtension(options.output, {".json", ".json.gz"}, "convert");
    WriteInstance(format->read(options), options.output);
    return 0;
  }
  if (options.devices > 0) {
    throw InputError(
        fmt::format("--devices: {} is a graph, which has no processors", options.file));
  }
  RequireExtension(options.output, {".json", ".json.gz", ".dot"}, "convert");
  const auto graph = Load(options);
  if (!options.cluster.empty()) {
    RequireExtension(options.output, {".dot"}, "convert --cluster");
    const auto cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
    const auto passes = ParsePasses(ConfigNode::FromString("[colocate]", "convert"));
    WriteFileAtomically(
        options.output,
        FormatWeightedDot(
            *MakeProblem(graph, cluster, passes, Objective::kStepTime, false, options.file).exact));
  } else if (options.output.ends_with(".dot")) {
    WriteFileAtomically(options.output, FormatDot(*graph, Grouping::Identity(graph->num_ops())));
  } else {
    WriteGraph(*graph, options.output);
  }
  return 0;
}

int Generate(const GraphOptions& options) {
  RequireExtension(options.output, {".json", ".json.gz"}, "generate");
  WriteInstance(MakePlanted(options.planted), options.output);
  return 0;
}

// Returns weights without a cluster: roofline times on a device of 10 TFLOP/s and 1 TB/s [s].
std::vector<double> NominalWeights(const Graph& graph) {
  std::vector<double> weight;
  for (const Op& op : graph.ops()) {
    const double bytes = static_cast<double>(op.bytes_accessed);
    weight.push_back(op.IsStorage() ? 0 : std::max(op.flops / 1e13, bytes / 1e12));
  }
  return weight;
}

// Returns the graph with a source that marks its ops as groups.
Graph MarkContracted(const Graph& graph) {
  Json source = graph.source().empty() ? Json::object() : Json::parse(graph.source());
  source["contracted"] = true;
  return Graph(graph.name(),
               {graph.tensors().begin(), graph.tensors().end()},
               {graph.ops().begin(), graph.ops().end()},
               source.dump(),
               graph.name(),
               graph.extra());
}

int Coarsen(const GraphOptions& options) {
  if (!options.output.empty()) RequireExtension(options.output, {".json", ".json.gz"}, "-o");
  std::vector<CoarseningPass> passes;
  for (const std::string& text : options.passes) {
    passes.push_back(ParsePass(ConfigNode::FromString(text, "--pass")));
  }
  const auto graph = Load(options);
  std::vector<double> weight = NominalWeights(*graph);
  if (!options.cluster.empty()) {
    const auto cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
    weight = BestDeviceCosts(CostedProblem(graph, cluster, options.file).costs);
  }
  std::vector<std::vector<std::string>> rows = {{"pass", "groups"},
                                                {"(single ops)", std::to_string(graph->num_ops())}};
  const Grouping grouping =
      ApplyPasses(*graph, passes, weight, [&](const CoarseningPass& pass, const Grouping& now) {
        rows.push_back({pass.name, std::to_string(now.num_groups())});
      });
  if (!options.dot.empty()) WriteFileAtomically(options.dot, FormatDot(*graph, grouping));
  if (!options.output.empty()) {
    WriteGraph(MarkContracted(ContractGroups(*graph, grouping).graph), options.output);
  }
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

  Command validate =
      AddPart(command,
              "validate",
              "Exit code 0 if the file is a valid graph, 2 if not; warns of likely mistakes: "
              "missing FLOPs, sizes that differ from the shapes, unread gradients",
              options);
  validate.AddFlag("--strict", options->strict, "treat warnings as errors, with exit code 2");
  validate.Add(
      "--cluster",
      options->cluster,
      "cluster whose device kinds the ops may name; default: those of `emplace list device-kinds`");
  runs(validate, Validate);

  Command convert = command.AddCommand(
      "convert", "Write a graph as .json, .json.gz or .dot, or read a scheduling instance");
  convert
      .Add("file",
           options->file,
           "graph: a name of `emplace list graphs` or a path; or an instance: .stg, .dot, or the "
           "format of --from")
      .Required();
  convert
      .Add("output",
           options->output,
           "file to write. Graph: .json, .json.gz or .dot. Instance: NAME.json[.gz]; "
           "NAME.cluster.yaml is written as well, and NAME.placement.json if the file has a "
           "schedule")
      .Required();
  convert.Add("--from",
              options->from,
              "format of the input, instead of the one of its extension: graph, stg (Standard Task "
              "Graph Set), dot (Graphviz with a Weight for every node and edge), max_load (JSON "
              "with costs of nodes and edges, for objective: period)");
  convert.Add(
      "--cluster",
      options->cluster,
      "cluster, or an instance of configs/benchmark: writes a .dot file as a task graph for "
      "other solvers, with the times of ops and transfers as weights [us]");
  convert
      .Add("--devices",
           options->devices,
           "number of processors of an instance; default: the number in the file")
      .Positive();
  runs(convert, Convert);

  Command generate = command.AddCommand(
      "generate", "Write a random problem with a planted optimum: graph, cluster, placement");
  PlantedOptions& planted = options->planted;
  generate
      .Add("output",
           options->output,
           "graph to write, NAME.json or NAME.json.gz; also writes NAME.cluster.yaml and "
           "NAME.placement.json, which is optimal")
      .Required();
  generate.Add("--ops", planted.ops, "number of ops").ShowDefault();
  generate.Add("--devices", planted.devices, "number of devices").ShowDefault();
  generate.Add("--readers", planted.readers, "mean number of readers per op").ShowDefault();
  generate.Add("--ccr", planted.ccr, "mean time of a message divided by mean cost of an op")
      .ShowDefault();
  generate
      .Add("--slowest",
           planted.slowest,
           "time of an op on the last device divided by its time on the first; 1: all devices are "
           "equal")
      .ShowDefault();
  generate.AddFlag("--chains",
                   planted.chains,
                   "let every op read the one before it on its planted device, so that queue "
                   "semantics reach the optimum, too");
  generate.AddFlag("--shuffle",
                   planted.shuffle,
                   "number the ops in random order instead of the order of planted starts; stream "
                   "semantics then reach the optimum in the placement's issue order");
  generate.Add("--seed", planted.seed, "each seed gives another problem").ShowDefault();
  runs(generate, Generate);

  Command coarsen = AddPart(command,
                            "coarsen",
                            "Apply coarsening passes and print the number of groups after each",
                            options);
  coarsen
      .Add("--pass",
           options->passes,
           "a pass as in a run config: colocate, gradients, \"single_consumer: {max_share: "
           "0.1}\", \"scope: {depth: 2}\", \"merge_cheapest: {groups: 128}\", \"heavy_edge: "
           "{groups: 128}\"; repeat for several")
      .Type("PASS")
      .OneAtATime()
      .Required();
  coarsen.Add(
      "--cluster",
      options->cluster,
      "weigh ops by their cost on their best device of this cluster; default: by FLOPs and bytes");
  coarsen.Add("--dot", options->dot, "write the groups for Graphviz");
  coarsen.Add("-o,--output", options->output, "write the contracted graph (an approximation)");
  runs(coarsen, Coarsen);
}

}  // namespace emplace
