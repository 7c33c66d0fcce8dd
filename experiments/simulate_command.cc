#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/as_executed.h"
#include "experiments/commands.h"
#include "experiments/load.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "experiments/priority.h"
#include "experiments/step_interval.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/bounds/bounds.h"
#include "framework/cost/cost_model.h"
#include "simulator/reference.h"

namespace emplace {
namespace {

struct SimulateOptions {
  std::string graph, cluster, placement, costs = "none", semantics = "queue", priority, trace;
  bool count_gaps = false;
};

// Ops with the same colocate label must be on one device, in every placement.
void RequireLabelsTogether(const Graph& graph,
                           const Cluster& cluster,
                           const std::vector<DeviceIndex>& device_of_op,
                           const std::string& where) {
  std::map<std::string, int> first;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const std::string& label = graph.op(v).colocate;
    if (label.empty()) continue;
    const int other = first.emplace(label, v).first->second;
    if (device_of_op[v] == device_of_op[other]) continue;
    throw InputError(
        fmt::format("{}: ops \"{}\" (on {}) and \"{}\" (on {}) have the colocate label \"{}\" and "
                    "must share a device",
                    where,
                    graph.op(other).name,
                    cluster.device(device_of_op[other]).name,
                    graph.op(v).name,
                    cluster.device(device_of_op[v]).name,
                    label));
  }
}

void RequireAllowed(const Graph& graph,
                    const Cluster& cluster,
                    const Costs& costs,
                    const std::vector<DeviceIndex>& device_of_op,
                    const std::string& where) {
  for (int v = 0; v < graph.num_ops(); ++v) {
    if (costs.allowed(v, device_of_op[v])) continue;
    std::vector<std::string> choices;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      if (costs.allowed(v, d)) choices.push_back(cluster.device(d).name);
    }
    throw InputError(fmt::format("{}: op \"{}\" may not run on \"{}\"; choices: {}",
                                 where,
                                 graph.op(v).name,
                                 cluster.device(device_of_op[v]).name,
                                 fmt::join(choices, ", ")));
  }
}

// null without bounds
nlohmann::ordered_json IntervalToJson(Nanos time, const StepInterval& step) {
  if (!step.interval.is_bounded()) return nullptr;
  const TimeInterval ends = step.interval.Around(static_cast<double>(time));
  return {{"low", std::llround(ends.low)},
          {"high", std::llround(ends.high)},
          {"level", step.interval.level},
          {"held_out", step.interval.held_out},
          {"source", step.source}};
}

nlohmann::ordered_json ToJson(const Cluster& cluster,
                              const Outcome& outcome,
                              const StepInterval& interval,
                              Nanos bound) {
  nlohmann::ordered_json json, devices, channels;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceOutcome& device = outcome.devices[d];
    devices[cluster.device(d).name] = {
        {"busy_ns", device.busy}, {"peak_bytes", device.peak}, {"deficit_bytes", device.deficit}};
  }
  channels = nlohmann::ordered_json::object();
  for (int k = 0; k < cluster.num_channels(); ++k) {
    const ChannelOutcome& channel = outcome.channels[k];
    channels[cluster.channel(k).name] = {
        {"busy_ns", channel.busy}, {"transfers", channel.transfers}, {"bytes", channel.bytes}};
  }
  json["step_time_ns"] = outcome.step_time;
  json["interval_ns"] = IntervalToJson(outcome.step_time, interval);
  json["feasible"] = outcome.feasible;
  json["devices"] = std::move(devices);
  json["channels"] = std::move(channels);
  json["bound_ns"] = bound;
  return json;
}

// @param file  the placement file, whose order --priority given takes; so does the default if it
//   has one
Priority ChoosePriority(const SimulateOptions& options,
                        Semantics semantics,
                        const PlacementFile& file) {
  const bool has_order = !file.issue_order.empty();
  if (options.priority.empty()) return has_order ? Priority::kGiven : Priority::kId;
  const Priority priority = ParsePriority(options.priority, "--priority", semantics);
  if (priority == Priority::kSearched) {
    throw InputError(
        "--priority: nothing is searched here, expected id, upward_rank or given, got searched");
  }
  if (priority == Priority::kGiven && !has_order) {
    throw InputError(
        fmt::format("{}: has no issue_order, which --priority given asks for", options.placement));
  }
  return priority;
}

bool SameNumbers(const Outcome& a, const Outcome& b) {
  bool same = a.step_time == b.step_time && a.feasible == b.feasible;
  for (size_t d = 0; d < a.devices.size(); ++d) {
    same = same && a.devices[d].busy == b.devices[d].busy && a.devices[d].peak == b.devices[d].peak;
  }
  return same;
}

int Simulate(const SimulateOptions& options) {
  SimulatorOptions how;
  how.semantics = ParseSemantics(options.semantics, "--semantics");
  how.count_gaps = options.count_gaps;
  const auto graph = LoadGraph(ResolveMenu(GraphMenu(), options.graph, "--graph"));
  const auto cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
  const PlacementFile file = ReadPlacement(options.placement, *graph, *cluster, PrintWarning);
  const Placement placement{file.device_of_op};
  const Priority priority = ChoosePriority(options, how.semantics, file);
  RequireLabelsTogether(*graph, *cluster, placement.device, options.placement);
  std::shared_ptr<const CostTable> table;
  if (options.costs != "none") {
    table = LoadCosts(ResolveMenu(CostsMenu(), options.costs, "--costs"));
  }
  Costs costs = ComputeCosts(
      *graph,
      *cluster,
      options.graph + (table ? " with costs " + options.costs : ""),
      {.table = table.get(), .apart = CountsNeighbors(how.semantics), .warn = PrintWarning});
  CheckDeviceKinds(*graph, cluster.get(), options.graph);
  RequireAllowed(*graph, *cluster, costs, placement.device, options.placement);
  const auto problem = std::make_shared<const Problem>(graph,
                                                       Grouping::Identity(graph->num_ops()),
                                                       cluster,
                                                       std::move(costs),
                                                       Objective::kStepTime,
                                                       ProblemChecks::kPlacementOnly);
  how = WithPriority(how, priority, *problem, file.issue_order);
  const Outcome outcome = MakeSimulator(problem, how)->Evaluate(placement, {.channels = true});
  if (!options.trace.empty()) {
    const Timeline timeline = SimulateReference(*problem, placement.device, how);
    EMPLACE_CHECK(SameNumbers(timeline.outcome, outcome), "reference and fast simulator disagree");
    WriteFileAtomically(options.trace, FormatTrace(*problem, timeline));
  }
  const StepInterval interval = FindInterval(table.get(), graph->name(), how.semantics);
  Print(ToJson(*cluster, outcome, interval, ComputeBounds(*problem).best()).dump(2) + "\n");
  return 0;
}

}  // namespace

void AddSimulateCommand(Command program) {
  auto options = std::make_shared<SimulateOptions>();
  Command command = program.AddCommand(
      "simulate", "Simulate one placement exactly; one JSON object on stdout (times in ns)");
  command.Add("--graph", options->graph, "graph: a name of `emplace list graphs` or a path")
      .Required();
  command.Add("--cluster", options->cluster, "cluster: a name of `emplace list clusters` or a path")
      .Required();
  command.Add("--placement", options->placement, "placement file (JSON)").Required();
  command
      .Add("--costs",
           options->costs,
           "measured costs: a name of `emplace list costs` or a path; none: the graph's own "
           "and the roofline model. In stream semantics the held-out placements of the file tell "
           "how sure the step time is")
      .ShowDefault();
  command.Add("--semantics", options->semantics, SemanticsHelp()).ShowDefault();
  command.Add("--priority",
              options->priority,
              "the order in which stream and interference semantics issue ops: " + PriorityHelp() +
                  "; default: given if the file has an issue_order, else id");
  command.AddFlag("--count-gaps",
                  options->count_gaps,
                  "the step time counts trailing gaps, as Placeto's published simulator does");
  command.Add("--trace", options->trace, "write a timeline for Chrome's or Perfetto's viewer");
  command.Does([options] { return Simulate(*options); });
}

}  // namespace emplace
