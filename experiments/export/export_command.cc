#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/output.h"
#include "experiments/export/export_device_map.h"
#include "experiments/export/export_devices.h"
#include "experiments/run/run_reader.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

const std::vector<std::string> kTargets = {"json", "tensorflow", "huggingface"};

struct ExportOptions {
  std::string input, agent, target, output, semantics;
  RunFiles files;
  std::vector<std::string> device_names;
};

struct Exported {
  std::string text, notes;
  std::vector<DeviceIndex> device_of_op;  // where the ops run after the export is loaded
};

// Requires the options that a placement file needs.
void RequireFiles(const ExportOptions& options) {
  for (const auto& [value, name] : {std::pair(&options.files.graph, "--graph"),
                                    std::pair(&options.files.cluster, "--cluster")}) {
    if (!value->empty()) continue;
    throw InputError(fmt::format(
        "{}: a placement file does not name the files of its graph and cluster; {} is missing",
        options.input,
        name));
  }
}

// Refuses a graph of another framework, since TensorFlow does not know its op names.
void RequireTensorFlow(const Graph& graph) {
  if (graph.source().empty()) return;  // made by hand or by other tools
  const auto source = nlohmann::json::parse(graph.source());
  const auto framework = source.find("framework");
  if (framework == source.end() || !framework->is_string()) return;
  const std::string name = framework->get<std::string>();
  if (name.starts_with("tensorflow")) return;
  throw InputError(
      fmt::format("--to tensorflow: graph \"{}\" was made by {}, whose op names "
                  "are not TensorFlow's; choices: {}",
                  graph.name(),
                  name,
                  name.starts_with("torch") ? "huggingface, json" : "json"));
}

// Warns if two devices have the same name (PyTorch has one CPU): the execution then differs from
// the simulation.
void WarnOfSharedNames(const std::vector<Json>& names, const Cluster& cluster) {
  std::map<Json, int> first;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (names[d].is_null()) continue;
    const auto [other, is_new] = first.emplace(names[d], d);
    if (is_new) continue;
    PrintWarning(fmt::format(
        "devices \"{}\" and \"{}\" are both exported as {}, but the simulation had two devices",
        cluster.device(other->second).name,
        cluster.device(d).name,
        names[d].dump()));
  }
}

Exported Export(const ExportOptions& options, const PlacedRun& found, const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  const std::vector<DeviceIndex>& placed = found.placement.device;
  if (options.target == "json") {
    return {
        FormatPlacement(placed, problem.graph(), cluster, found.run.issue_order, found.simulated),
        "",
        placed};
  }
  Exported exported{"", "", placed};
  Json json = Json::object();
  const NamingFramework framework =
      options.target == "tensorflow" ? NamingFramework::kTensorFlow : NamingFramework::kTorch;
  const auto told = ParseDeviceNames(options.device_names, cluster, framework);
  std::vector<Json> names;
  if (framework == NamingFramework::kTensorFlow) {
    RequireTensorFlow(problem.graph());
    names = NameDevices(cluster, placed, framework, told);
    for (int v = 0; v < problem.num_ops(); ++v) {
      json[problem.graph().op(v).name] = names[placed[v]];
    }
  } else {
    DeviceMap map = MakeDeviceMap(problem, placed);
    names = NameDevices(cluster, map.device_of_op, framework, told);
    for (const DeviceMap::Entry& entry : map.entries) json[entry.module] = names[entry.device];
    exported.notes = FormatConflicts(map, cluster);
    exported.device_of_op = std::move(map.device_of_op);
  }
  WarnOfSharedNames(names, cluster);
  exported.text = json.dump(2) + "\n";
  return exported;
}

std::string FormatOutcome(const Outcome& outcome, const Cluster& cluster) {
  std::string text = FormatTime(outcome.step_time);
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (outcome.devices[d].deficit == 0) continue;
    text += fmt::format(", does not fit ({} missing on {})",
                        FormatBytes(outcome.devices[d].deficit),
                        cluster.device(d).name);
  }
  return text;
}

std::string FormatTimes(Evaluator& simulator,
                        const std::vector<DeviceIndex>& placed,
                        const std::vector<DeviceIndex>& exported) {
  const Cluster& cluster = simulator.problem().cluster();
  const Outcome before = simulator.Evaluate(Placement{placed});
  std::string text = fmt::format("as placed        {}\n", FormatOutcome(before, cluster));
  const Outcome after = simulator.Evaluate(Placement{exported});
  text += fmt::format("as exported      {}", FormatOutcome(after, cluster));
  if (before.step_time > 0 && after.step_time != before.step_time) {
    text += fmt::format(" ({:+.1f} %)",
                        100.0 * static_cast<double>(after.step_time - before.step_time) /
                            static_cast<double>(before.step_time));
  }
  return text + "\n";
}

int ExportPlacement(const ExportOptions& options) {
  if (std::find(kTargets.begin(), kTargets.end(), options.target) == kTargets.end()) {
    ThrowUnknown("--to", "target", options.target, kTargets);
  }
  if (options.target == "json" && !options.device_names.empty()) {
    throw InputError(
        "--device-map does not apply to --to json, which keeps the names of "
        "the cluster");
  }
  const bool is_placement = IsPlacementFile(options.input);
  if (is_placement) RequireFiles(options);
  PlacedRun found = ReadPlacedRun(options.input, options.agent, options.files);
  if (!options.semantics.empty()) {
    found.run.semantics = ParseSemantics(options.semantics, "--semantics");
  }
  const auto problem = MakeExactProblem(found.run, options.input);
  const auto simulator = MakeSimulator(problem, HowSimulated(found.run, *problem));
  // The simulation refuses a placement on devices where ops may not run, before it is exported.
  simulator->Evaluate(found.placement);
  const Exported exported = Export(options, found, *problem);
  const std::string report =
      fmt::format("placement        {} of graph \"{}\" on cluster \"{}\"\n",
                  is_placement ? options.input : found.label + " of " + options.input,
                  found.run.graph->name(),
                  found.run.cluster->name()) +
      exported.notes + FormatTimes(*simulator, found.placement.device, exported.device_of_op);
  if (options.output.empty()) {
    Print(exported.text);
  } else {
    WriteFileAtomically(options.output, exported.text);
  }
  fmt::print(stderr, "{}", report);
  return 0;
}

}  // namespace

void AddExportCommand(Command program) {
  auto options = std::make_shared<ExportOptions>();
  Command command =
      program.AddCommand("export", "Export a placement as JSON, for TensorFlow or for PyTorch");
  command
      .Add("input",
           options->input,
           "results file of `emplace run` or of a sweep's run, or a placement (.json, .json.gz)")
      .Type("RESULT.h5|PLACEMENT.json")
      .Required();
  command
      .Add("--to",
           options->target,
           "json (emplace's own placement file); tensorflow (op -> device string); "
           "huggingface (module -> device, the device_map of accelerate and transformers)")
      .Required();
  command.Add("--agent",
              options->agent,
              "agent whose best placement is exported: a label of the run, or one without its seed "
              "for the best seed; default: the best of all");
  command
      .Add("--device-map",
           options->device_names,
           "the framework's name of a device, if the device is not called cpu:N or gpu:N or has "
           "another number there: gpu:0=/device:GPU:2 for TensorFlow, gpu:0=2 for PyTorch")
      .SplitAt(',')
      .Type("DEVICE=NAME,...");
  command.Add("--graph",
              options->files.graph,
              "the graph of a placement file; with results, only if its file has moved");
  command.Add("--cluster",
              options->files.cluster,
              "the cluster of a placement file; with results, only if its file has moved");
  command.Add("--costs",
              options->files.costs,
              "measured costs; with results, only if their file has moved");
  command.Add("--semantics",
              options->semantics,
              fmt::format("simulate in {} semantics; default: the semantics in the file, else {}",
                          SemanticsNames(),
                          ToString(SimulatorOptions{}.semantics)));
  command.Add("-o,--output", options->output, "file to write; default: stdout");
  command.Footer(
      "The simulated step times of the placement and of the exported device map are printed on "
      "stderr.");
  command.Does([options] { return ExportPlacement(*options); });
}

}  // namespace emplace
