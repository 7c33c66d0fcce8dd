#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/commands.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "experiments/plan/plan_launch.h"
#include "experiments/plan/plan_ranks.h"
#include "experiments/plan/plan_report.h"
#include "experiments/plan/plan_search.h"
#include "experiments/plan/plan_simulation.h"
#include "experiments/problem/load.h"
#include "experiments/problem/objective.h"
#include "experiments/report/plan_picture.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/base/json.h"
#include "framework/config/setting_error.h"
#include "framework/graph/coarsen.h"
#include "framework/placement/placement.h"
#include "framework/plan/plan.h"
#include "framework/plan/ranks.h"
#include "simulator/reference/reference.h"

namespace emplace {
namespace {

struct PlanOptions {
  std::vector<std::string> graphs;
  std::string cluster, costs, plan, placement, semantics = "stream", schedule = "1f1b", write;
  std::string objective = "step_time", output, to;
  PlanSearchOptions search{.seconds = 60};
  int virtual_stages = 0;  // 0: not given
  bool json = false;
};

// Returns what `make` returns. A setting that it refuses gets its place in the plan's file, or its
// option.
template <class Make>
auto WithPlace(const ConfigNode& file, const Make& make) {
  try {
    return make();
  } catch (const SettingError& error) {
    if (file.Has(error.key())) file.At(error.key()).Fail(error.message());
    if (error.key() == "schedule") throw InputError("--schedule: " + error.message());
    if (error.key() == "virtual_stages") throw InputError("--virtual-stages: " + error.message());
    throw;
  }
}

nlohmann::ordered_json PlanJson(const PlanSetting& setting,
                                const Plan& plan,
                                const PlanOptions& options,
                                const PlacedPlan& placed,
                                const PlanFigures& figures,
                                const std::vector<NamedOutcome>& outcomes) {
  nlohmann::ordered_json devices;
  for (const auto& [name, d, device] : outcomes) {
    devices[name] = {
        {"busy_ns", device.busy}, {"peak_bytes", device.peak}, {"deficit_bytes", device.deficit}};
  }
  return {{"graph", setting.step->name()},
          {"cluster", setting.cluster->name()},
          {"ranks", setting.step->ranks()},
          {"replicas", plan.replicas},
          {"stages", placed.num_stages},
          {"micro_batches", plan.micro_batches},
          {"recompute", plan.recompute},
          {"schedule", options.schedule},
          {"virtual_stages", options.virtual_stages},
          {"semantics", options.semantics},
          {"objective", options.objective},
          {"step_time_ns", figures.outcome.step_time},
          {"feasible", figures.outcome.feasible},
          {"bubble", figures.bubble},
          {"communication", figures.communication},
          {"devices", std::move(devices)}};
}

std::string Counted(int number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// @param schedule  ScheduleText()
std::string MicroBatchesOf(const Plan& plan, const std::string& schedule) {
  return fmt::format(
      "{} micro-batch{}, {}", plan.micro_batches, plan.micro_batches == 1 ? "" : "es", schedule);
}

std::string PlanText(const PlanSetting& setting,
                     const Plan& plan,
                     const PlanOptions& options,
                     const std::string& schedule,
                     const PlacedPlan& placed,
                     const PlanFigures& figures,
                     const std::vector<NamedOutcome>& outcomes) {
  std::string text = fmt::format(
      "{} on {}: {}, {}, {}, {} semantics\n"
      "{:<15}{}{}\n"
      "bubble         {:.1f} %\n"
      "communication  {:.1f} %\n\n",
      setting.step->name(),
      setting.cluster->name(),
      Counted(plan.replicas, "replica"),
      Counted(placed.num_stages, "stage"),
      MicroBatchesOf(plan, schedule),
      options.semantics,
      setting.objective == Objective::kPeriod ? "period" : "step time",
      FormatTime(figures.outcome.step_time),
      figures.outcome.feasible ? "" : ", but does not fit into memory",
      100 * figures.bubble,
      100 * figures.communication);
  std::vector<std::vector<std::string>> rows = {
      {"device", "busy", "peak memory", "memory", "missing"}};
  const Cluster& cluster = *setting.cluster;
  for (const auto& [name, d, device] : outcomes) {
    if (d < 0 || cluster.kind_of(d).device_class == DeviceClass::kNetwork) continue;
    if (device.busy == 0 && device.peak == 0) continue;
    const std::int64_t memory = cluster.device(d).memory;
    rows.push_back({name,
                    FormatTime(device.busy),
                    FormatBytes(device.peak),
                    memory == kUnlimitedMemory ? "unlimited" : FormatBytes(memory),
                    device.deficit == 0 ? "" : FormatBytes(device.deficit)});
  }
  return text + FormatColumns(rows);
}

// Writes timeline.svg into the folder.
void WritePicture(const PlanSetting& setting,
                  const PlacedPlan& placed,
                  const Plan& plan,
                  const std::string& schedule,
                  const std::filesystem::path& folder) {
  SimulatorOptions how{.semantics = setting.semantics};
  how.issue_order = placed.issue_order;
  const Timeline timeline = SimulateReference(*placed.problem, placed.device_of_op, how);
  const std::string title = fmt::format("{} on {}: {}, {}, {}; step time {}",
                                        setting.step->name(),
                                        setting.cluster->name(),
                                        Counted(plan.replicas, "replica"),
                                        Counted(placed.num_stages, "stage"),
                                        MicroBatchesOf(plan, schedule),
                                        FormatTime(timeline.outcome.step_time));
  WriteFileAtomically(folder / "timeline.svg",
                      FormatPlanPicture(*placed.problem, placed.ops, timeline, title));
}

int RunSinglePlan(PlanOptions options, const PlanSetting& setting) {
  const ConfigNode file = ConfigNode::FromFile(options.plan);
  const Plan plan = ReadFields<Plan>(file);
  const Schedule schedule = ParseSchedule(options.schedule, "--schedule");
  if (options.virtual_stages == 0) {
    options.virtual_stages = schedule == Schedule::kInterleaved ? 2 : 1;
  }
  const auto groups = WithPlace(file, [&] { return DeviceGroups(plan, *setting.cluster); });
  ReplicaDevices devices;
  if (options.placement.empty()) {
    devices = WithPlace(file, [&] {
      return options.virtual_stages == 1
                 ? EqualStages(setting, groups)
                 : EvenVirtualStages(
                       setting, groups, options.search.layers, options.virtual_stages);
    });
  } else {
    const PlacementFile placement =
        ReadPlacement(options.placement, *setting.step, *setting.cluster, PrintWarning);
    RequireLabelsTogether(
        placement.device_of_op, *setting.step, *setting.cluster, options.placement);
    devices = MirrorDevices(setting, groups, placement.device_of_op, options.placement);
  }
  const bool one = options.write.empty() && OneIsEnough(setting, plan, groups, devices);
  if (one) devices.resize(1);
  const PlacedPlan placed = WithPlace(file, [&] {
    return PlacePlan(setting, plan, devices, schedule, one, options.virtual_stages);
  });
  const std::string text = ScheduleText(schedule, options.virtual_stages);
  const PlanFigures figures = FiguresOf(setting, placed);
  if (!options.write.empty()) {
    WritePlacedPlan(setting, placed, figures.outcome.step_time, options.write);
    WritePicture(setting, placed, plan, text, options.write);
  }
  const auto outcomes = OutcomesByName(setting, groups, placed, figures.outcome);
  Print(options.json ? PlanJson(setting, plan, options, placed, figures, outcomes).dump(2) + "\n"
                     : PlanText(setting, plan, options, text, placed, figures, outcomes));
  return 0;
}

void SetFirstRank(PlanSetting& setting) {
  RankStep rank = FirstRank(std::move(setting.step), std::move(setting.cluster));
  setting.step = std::move(rank.step);
  setting.cluster = std::move(rank.cluster);
}

// Returns the size of a graph's micro-batch. @throws InputError naming the file
int MicroBatchOf(const Graph& graph, const std::string& path, int batch) {
  const Json source = Json::parse(graph.source(), nullptr, false);
  if (!source.is_object() || !source.contains("batch") || !source["batch"].is_number_integer() ||
      source["batch"].get<std::int64_t>() < 1) {
    throw InputError(fmt::format(
        "{}: source.batch is missing; expected the number of samples of a micro-batch", path));
  }
  const auto size = source["batch"].get<std::int64_t>();
  if (batch % size != 0) {
    throw InputError(
        fmt::format("{}: its batch of {} does not divide --batch {}", path, size, batch));
  }
  return static_cast<int>(size);
}

int RunPlanSearch(const PlanOptions& options, const PlanSetting& setting) {
  for (const auto& [given, option] : {std::pair(!options.placement.empty(), "--placement"),
                                      std::pair(!options.write.empty(), "--write"),
                                      std::pair(options.virtual_stages > 0, "--virtual-stages")}) {
    if (!given) continue;
    throw InputError(
        fmt::format("{}: applies to --plan only; a search writes its best plan with -o", option));
  }
  std::vector<PlanGraph> graphs;
  for (const std::string& name : options.graphs) {
    PlanGraph& graph = graphs.emplace_back(PlanGraph{.setting = setting});
    const std::filesystem::path path = ResolveMenu(GraphMenu(), name, "graph");
    graph.setting.where = name;
    if (name != options.graphs[0]) graph.setting.step = LoadGraph(path);
    SetFirstRank(graph.setting);
    CheckDeviceKinds(*graph.setting.step, graph.setting.cluster.get(), name);
    graph.size = MicroBatchOf(*graph.setting.step, path.string(), options.search.batch);
    for (const PlanGraph& other : graphs) {
      if (&other == &graph || other.size != graph.size) continue;
      if (graph.setting.step->ranks() > 1 || other.setting.step->ranks() > 1) continue;
      throw InputError(fmt::format("{}: has the batch of {}, as {} has; expected different sizes",
                                   path.string(),
                                   graph.size,
                                   other.setting.where));
    }
  }
  PlanSearchOptions search = options.search;
  StopRequest::CatchSignals();
  search.stop = StopRequest::requested;
  search.place = !options.output.empty();
  search.move_ops = true;
  search.interleaved = options.to.empty() || options.to == "megatron";
  const PlanSearchResult result = SearchPlansOfRanks(graphs, search);
  if (result.placed) {
    const FoundPlan& best = result.plans[0];
    WritePlacedPlan(graphs[best.graph].setting, *result.placed, best.step_time, options.output);
    WritePicture(graphs[best.graph].setting,
                 *result.placed,
                 best.plan,
                 ScheduleText(best.schedule, best.virtual_stages),
                 options.output);
    WriteFileAtomically(std::filesystem::path(options.output) / "plan.yaml",
                        WriteFields(best.plan));
    if (result.moved) {
      WritePlacedPlan(graphs[best.graph].setting,
                      result.moved->placed,
                      result.moved->outcome.step_time,
                      std::filesystem::path(options.output) / "moved");
    }
  }
  if (!options.to.empty()) {
    if (result.plans.empty()) throw InputError("--to: no plan fits");
    const FoundPlan& best = result.plans[0];
    Print(LaunchSettings(options.to,
                         best,
                         result.layer_names,
                         TensorParallelSize(options.to, *graphs[best.graph].setting.step),
                         graphs[best.graph].size,
                         options.search.batch,
                         *graphs[best.graph].setting.cluster));
  } else if (options.json) {
    Print(FormatPlanSearchJson(result, graphs, search));
  } else {
    Print(search.memory_only ? FormatPlanMemory(result, graphs)
                             : FormatPlanSearch(result, graphs, search));
  }
  return 0;
}

int RunPlanCommand(const PlanOptions& options, const Command& command) {
  if (options.cluster.empty()) command.ThrowMissing("--cluster");
  if (options.plan.empty() == (options.search.batch == 0)) {
    if (options.plan.empty()) command.ThrowMissing("--batch or --plan");
    throw InputError(
        "--batch: is for a search, and --plan simulates one plan; expected one of both");
  }
  if (!options.to.empty() && (!options.plan.empty() || options.json)) {
    throw InputError("--to: is for a search, without --json");
  }
  const std::vector<std::string>& targets = LaunchTargets();
  if (!options.to.empty() && std::ranges::find(targets, options.to) == targets.end()) {
    ThrowUnknown("--to", "framework", options.to, targets);
  }
  if (!options.plan.empty() && !options.output.empty()) {
    throw InputError("-o: is for a search; --plan writes its files with --write");
  }
  if (!options.plan.empty() && options.graphs.size() > 1) {
    throw InputError(fmt::format("--plan: expected one graph, got {}", options.graphs.size()));
  }
  PlanSetting setting;
  setting.where = options.graphs[0];
  setting.step = LoadGraph(ResolveMenu(GraphMenu(), options.graphs[0], "graph"));
  setting.cluster = LoadCluster(ResolveMenu(ClusterMenu(), options.cluster, "--cluster"));
  if (!options.costs.empty() && options.costs != "none") {
    const std::filesystem::path path = ResolveMenu(CostsMenu(), options.costs, "--costs");
    setting.table = LoadCosts(path);
    setting.costs = std::filesystem::absolute(path).lexically_normal().string();
  }
  setting.semantics = ParseSemantics(options.semantics, "--semantics");
  setting.objective = ParseObjective(options.objective, "--objective");
  if (options.plan.empty()) return RunPlanSearch(options, setting);
  SetFirstRank(setting);
  CheckDeviceKinds(*setting.step, setting.cluster.get(), setting.where);
  return RunSinglePlan(options, setting);
}

}  // namespace

void AddPlanCommand(Command program) {
  auto options = std::make_shared<PlanOptions>();
  Command command = program.AddCommand(
      "plan", "Find how several devices share a training step: replicas, stages, micro-batches");
  command
      .Add("graph",
           options->graphs,
           "graph of a training step at the size of a micro-batch: a name of `emplace list graphs` "
           "or a path. For a search, several graphs of the model at different sizes, which are "
           "the `source.batch` of the files, and of different numbers of ranks (tensor parallel, "
           "FSDP: `emplace import --ranks`)")
      .Required();
  command.Add(
      "--cluster", options->cluster, "cluster: a name of `emplace list clusters` or a path");
  command.Add("--costs",
              options->costs,
              "measured costs: a name of `emplace list costs` or a path; default: the graph's own "
              "and the roofline model");
  command
      .Add("--plan",
           options->plan,
           "simulates this plan: YAML with replicas, micro_batches, recompute, bucket and groups")
      .Type("PLAN.yaml");
  command.Add("--placement",
              options->placement,
              "with --plan: placement file of the step's ops on the devices of the first replica; "
              "the other replicas mirror it. Default: contiguous stages of about equal cost; "
              "virtual stages of about equal numbers of layers");
  command.Add("--semantics", options->semantics, SemanticsHelp()).ShowDefault();
  command
      .Add("--schedule",
           options->schedule,
           "with --plan: order of the passes of a device, gpipe, 1f1b or interleaved")
      .ShowDefault();
  command
      .Add("--virtual-stages",
           options->virtual_stages,
           "with --schedule interleaved: virtual stages of each device; default: 2")
      .Positive();
  command
      .Add("--write",
           options->write,
           "with --plan: folder to write the graph, cluster and placement to, for `emplace "
           "simulate`, and timeline.svg, a picture of the passes of each device")
      .Type("DIR");
  command.Add("--batch", options->search.batch, "searches plans with this many samples in a step")
      .Positive();
  command.Add("--seconds", options->search.seconds, "time limit of the search")
      .NotNegative()
      .ShowDefault();
  command.Add("--layers",
              options->search.layers,
              "names of the layers that stages consist of, with one * for the number, as in "
              "\"decoder.block*\"; default: found from the names of the ops");
  command.AddFlag("--memory-only",
                  options->search.memory_only,
                  "shows which plans fit into memory, with their peaks, and searches nothing");
  command
      .Add("--objective",
           options->objective,
           "step_time, or period of pipelined steps, whose filling does not count")
      .ShowDefault();
  command
      .Add(
          "-o,--output",
          options->output,
          "folder to write the best plan of a search to: plan.yaml, timeline.svg (a picture of the "
          "passes of each device), and graph, cluster and placement for `emplace simulate`; "
          "the folder moved has them with ops moved one by one")
      .Type("DIR");
  command
      .Add("--to",
           options->to,
           "prints the settings with which a framework runs the best plan, instead of the table: "
           "deepspeed, megatron or vllm")
      .Type("FRAMEWORK");
  command.AddFlag("--json", options->json, "as JSON, times in ns");
  command.Footer(
      "Bubble: share of the step in which the devices that have work are idle. Communication: "
      "share "
      "of the\nstep time that would be saved if transfers and all-reduces took no time. "
      "Interleaved "
      "x 2: with\n2 virtual stages on each device.");
  command.Does([options, command] { return RunPlanCommand(*options, command); });
}

}  // namespace emplace
