#include "experiments/plan/plan_simulation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agents/pipeline_stages/pipeline_stages.h"
#include "experiments/console/output.h"
#include "experiments/problem/changed_problem.h"
#include "experiments/problem/objective.h"
#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/cluster/cluster_io.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_io.h"
#include "framework/plan/one_replica.h"
#include "framework/search/costed_problem.h"
#include "simulator/period/period.h"

namespace emplace {
namespace {

constexpr std::size_t kMostOrdered = 1'000'000;  // of the reader of placement files

CostInputs CostInputsOf(const PlanSetting& setting) {
  return {.table = setting.table.get(),
          .apart = CountsNeighbors(setting.semantics),
          .warn = PrintWarning};
}

bool HasDevices(const Cluster& cluster, DeviceClass device_class) {
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (cluster.kind_of(d).device_class == device_class) return true;
  }
  return false;
}

// Returns the pairs of devices of two groups at equal positions, but for those in both. @param
// first, other  ascending
std::vector<std::pair<int, int>> Counterparts(const std::vector<int>& first,
                                              const std::vector<int>& other) {
  std::vector<int> own, others;
  std::ranges::set_difference(first, other, std::back_inserter(own));
  std::ranges::set_difference(other, first, std::back_inserter(others));
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < std::min(own.size(), others.size()); ++i) {
    pairs.emplace_back(own[i], others[i]);
  }
  return pairs;
}

// Returns the groups of ops that are on one device in every replica.
Grouping TogetherInAll(const ReplicaDevices& devices) {
  std::map<std::vector<DeviceIndex>, int> labels;
  std::vector<int> label_of_op;
  std::vector<DeviceIndex> of_op(devices.size());
  for (std::size_t op = 0; op < devices[0].size(); ++op) {
    for (std::size_t r = 0; r < devices.size(); ++r) of_op[r] = devices[r][op];
    label_of_op.push_back(labels.emplace(of_op, static_cast<int>(labels.size())).first->second);
  }
  return Grouping(label_of_op);
}

// Merges the orders of the replicas: the ops of a replica keep the order of its own stages as far
// as dependencies through collectives allow.
std::vector<int> MergedOrder(const PlannedGraph& planned,
                             const std::vector<std::vector<int>>& orders) {
  const Graph& graph = planned.graph;
  std::vector<int> key(graph.num_ops());
  for (std::size_t r = 0; r < orders.size(); ++r) {
    for (std::size_t i = 0; i < orders[r].size(); ++i) {
      const int replica = planned.ops[orders[r][i]].replica;
      if (replica == static_cast<int>(r) || (replica < 0 && r == 0))
        key[orders[r][i]] = static_cast<int>(i);
    }
  }
  using Key = std::pair<int, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  std::vector<int> missing, order;
  for (int op = 0; op < graph.num_ops(); ++op) {
    missing.push_back(static_cast<int>(graph.predecessors(op).size()));
    if (missing[op] == 0) ready.emplace(key[op], op);
  }
  while (!ready.empty()) {
    const int op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (int after : graph.successors(op)) {
      if (--missing[after] == 0) ready.emplace(key[after], after);
    }
  }
  return order;
}

// Returns the issue order of the schedule.
// @param num_stages  is set to the stages of the first replica
std::vector<int> OrderOf(const Graph& step,
                         const PlannedGraph& planned,
                         const ReplicaDevices& devices,
                         Schedule schedule,
                         int virtual_stages,
                         int& num_stages) {
  std::vector<std::vector<int>> stages;
  std::vector<int> counts;
  for (const std::vector<DeviceIndex>& of_replica : devices) {
    const std::vector<int> device_of_op(of_replica.begin(), of_replica.end());
    stages.push_back(StagesOf(step, device_of_op, counts.emplace_back(), virtual_stages));
  }
  num_stages = counts[0];
  const auto differ = [&](const std::vector<int>& of_replica) { return of_replica != stages[0]; };
  if (std::ranges::none_of(stages, differ)) {
    return PipelineOrder(planned, stages[0], num_stages, schedule, virtual_stages);
  }
  std::vector<std::vector<int>> orders;
  for (std::size_t r = 0; r < stages.size(); ++r) {
    orders.push_back(PipelineOrder(planned, stages[r], counts[r], schedule, virtual_stages));
  }
  return MergedOrder(planned, orders);
}

// Returns the graph with the edges of an issue order. Collectives of different devices, and of
// different groups of ranks, each its own communicator, do not wait for one another.
// @param ranks_only  edges between collectives among ranks alone, which the issue order of their
//   network device, with a slot for each, does not keep
Graph WithEdges(const PlannedGraph& planned,
                const std::vector<DeviceIndex>& device_of_op,
                const std::vector<int>& order,
                bool ranks_only) {
  std::vector<int> server(device_of_op.begin(), device_of_op.end());
  if (ranks_only) std::ranges::fill(server, -1);
  for (int op = 0; op < planned.graph.num_ops(); ++op) {
    if (planned.ops[op].role != PlannedRole::kCollective) continue;
    const int group = planned.ops[op].rank_group;
    if (group >= 0) {  // a transfer; the op before it calls the collective
      server[op] = kMaxDevices * (2 + group) + device_of_op[op - 1];
    } else if (!ranks_only) {
      const int before = planned.graph.predecessors(op).front();
      server[op] = kMaxDevices + device_of_op[before - (planned.ops[before].rank_group >= 0)];
    }
  }
  return InOrder(planned.graph, server, order);
}

// Returns the problem without the times of transfers and collectives.
std::shared_ptr<const Problem> WithoutCommunication(const std::shared_ptr<const Problem>& problem) {
  const Cluster& cluster = problem->cluster();
  std::vector<DeviceKind> kinds(cluster.kinds().begin(), cluster.kinds().end());
  for (DeviceKind& kind : kinds) kind.cold_read.reset();
  std::vector<Channel> channels(cluster.channels().begin(), cluster.channels().end());
  for (Channel& channel : channels) {
    channel = {.name = channel.name, .bandwidth = {.bytes = 1'000'000'000'000'000'000}};
  }
  Costs costs = problem->costs();
  for (int op = 0; op < problem->num_ops(); ++op) {
    for (int d = 0; d < cluster.num_devices(); ++d) {
      Nanos& cost = costs.time[std::size_t(op) * cluster.num_devices() + d];
      if (cluster.kind_of(d).device_class == DeviceClass::kNetwork && cost < kMaxNanos) cost = 0;
    }
  }
  return ChangeProblem(problem, std::move(kinds), std::move(channels), std::move(costs));
}

}  // namespace

bool HasNetwork(const Cluster& cluster) {
  return HasDevices(cluster, DeviceClass::kNetwork);
}

bool HasStages(const Cluster& cluster, int device) {
  return cluster.kind_of(device).device_class ==
         (HasDevices(cluster, DeviceClass::kGpu) ? DeviceClass::kGpu : DeviceClass::kCpu);
}

ReplicaDevices MirrorDevices(const PlanSetting& setting,
                             const std::vector<std::vector<int>>& groups,
                             const std::vector<DeviceIndex>& first,
                             const std::string& where) {
  const Cluster& cluster = *setting.cluster;
  // Device of each replica for a device of the first; -1: none.
  std::vector<std::vector<int>> image(groups.size(), std::vector<int>(cluster.num_devices(), -1));
  for (std::size_t r = 0; r < groups.size(); ++r) {
    for (int d : groups[0]) {
      if (std::ranges::binary_search(groups[r], d)) image[r][d] = d;
    }
    for (const auto& [own, other] : Counterparts(groups[0], groups[r])) image[r][own] = other;
  }
  ReplicaDevices devices(groups.size(), std::vector<DeviceIndex>(first.size()));
  for (std::size_t op = 0; op < first.size(); ++op) {
    for (std::size_t r = 0; r < groups.size(); ++r) {
      const int device = image[r][first[op]];
      if (device < 0) {
        std::vector<std::string> choices;
        for (int d : groups[0]) {
          if (image[r][d] >= 0) choices.push_back(cluster.device(d).name);
        }
        throw InputError(fmt::format("{}: op \"{}\" is on {}, which {}; choices: {}",
                                     where,
                                     setting.step->op(static_cast<int>(op)).name,
                                     cluster.device(first[op]).name,
                                     r == 0 ? "is not in the group of the first replica"
                                            : fmt::format("has no counterpart in replica {}", r),
                                     fmt::join(choices, ", ")));
      }
      devices[r][op] = static_cast<DeviceIndex>(device);
    }
  }
  return devices;
}

ReplicaDevices EqualStages(const PlanSetting& setting,
                           const std::vector<std::vector<int>>& groups) {
  const Graph& step = *setting.step;
  const auto problem =
      CostedProblem(setting.step, setting.cluster, setting.where, CostInputsOf(setting))
          .WithGroups(ColocateByLabel(step, Grouping::Identity(step.num_ops())),
                      Objective::kStepTime,
                      ProblemChecks::kPlacementOnly);
  ReplicaDevices devices;
  for (const std::vector<int>& group : groups) {
    std::vector<int> stages;
    for (int d : group) {
      if (HasStages(*setting.cluster, d)) stages.push_back(d);
    }
    devices.push_back(ExpandPlacement(
        PipelineStagesPlacement(*problem, stages.empty() ? group : stages), problem->grouping()));
  }
  return devices;
}

PlacedPlan PlacePlan(const PlanSetting& setting,
                     const Plan& plan,
                     const ReplicaDevices& devices,
                     Schedule schedule,
                     bool one,
                     int virtual_stages) {
  PlacedPlan placed;
  const Grouping together = TogetherInAll(devices);
  PlannedStep step = ApplyPlan(
      *setting.step, *setting.cluster, plan, together, one ? Copies::kFirst : Copies::kAll);
  ReplicaDevices in_cluster = devices;  // that of the first replica is smaller
  for (std::vector<DeviceIndex>& of_replica : in_cluster) {
    for (DeviceIndex& device : of_replica) {
      if (one) {
        device = static_cast<DeviceIndex>(
            step.cluster->FindDevice(setting.cluster->device(device).name));
      }
    }
  }
  placed.device_of_op = PlannedPlacement(step, in_cluster);
  std::vector<int> order =
      OrderOf(*setting.step, step.planned, devices, schedule, virtual_stages, placed.num_stages);
  const bool has_order = EntryOf(setting.semantics).has_issue_order;
  if (!has_order || setting.step->ranks() > 1) {
    step.planned.graph = WithEdges(step.planned, placed.device_of_op, order, has_order);
  }
  if (has_order) placed.issue_order = std::move(order);
  const int num_ops = step.planned.graph.num_ops();
  placed.ops = std::move(step.planned.ops);
  CostedProblem costed(std::make_shared<const Graph>(std::move(step.planned.graph)),
                       step.cluster,
                       setting.where,
                       CostInputsOf(setting));
  for (int op = 0; op < num_ops; ++op) {
    if (costed.costs.allowed(op, placed.device_of_op[op])) continue;
    std::vector<std::string> choices;
    for (int d = 0; d < step.cluster->num_devices(); ++d) {
      if (costed.costs.allowed(op, d)) choices.push_back(step.cluster->device(d).name);
    }
    throw InputError(fmt::format("{}: op \"{}\" may not run on \"{}\"; choices: {}",
                                 setting.where,
                                 costed.graph->op(op).name,
                                 step.cluster->device(placed.device_of_op[op]).name,
                                 fmt::join(choices, ", ")));
  }
  const std::vector<int> labels(placed.device_of_op.begin(), placed.device_of_op.end());
  placed.problem = std::move(costed).WithGroups(
      Grouping(labels), Objective::kStepTime, ProblemChecks::kPlacementOnly);
  return placed;
}

Placement PlacementOf(const PlacedPlan& placed) {
  Placement placement;
  const Grouping& grouping = placed.problem->grouping();
  for (int group = 0; group < grouping.num_groups(); ++group) {
    placement.device.push_back(placed.device_of_op[grouping.members(group)[0]]);
  }
  return placement;
}

std::unique_ptr<Evaluator> PlacedSimulator(const PlanSetting& setting,
                                           const PlacedPlan& placed,
                                           int threads) {
  SimulatorOptions how{.semantics = setting.semantics};
  how.issue_order = placed.issue_order;
  how.threads = threads;
  return MakeSimulator(placed.problem, how);
}

Outcome SimulatePlaced(const PlanSetting& setting,
                       const PlacedPlan& placed,
                       const OutcomeDetail& detail) {
  Outcome outcome = PlacedSimulator(setting, placed)->Evaluate(PlacementOf(placed), detail);
  if (setting.objective == Objective::kPeriod) {
    Outcome period;
    EvaluatePeriod(*placed.problem, placed.device_of_op, {}, period);
    outcome.step_time = period.step_time;
  }
  return outcome;
}

bool OneIsEnough(const PlanSetting& setting,
                 const Plan& plan,
                 const std::vector<std::vector<int>>& groups,
                 const ReplicaDevices& devices) {
  if (plan.replicas == 1) return true;
  if (plan.collectives != "network" || plan.states != "replicated") {
    return false;
  }
  const auto shared = [&](int d) { return !HasStages(*setting.cluster, d); };
  if (std::ranges::any_of(devices[0], shared)) return false;
  const Costs costs =
      ComputeCosts(*setting.step, *setting.cluster, setting.where, CostInputsOf(setting));
  return ReplicasAreAlike(*setting.cluster, groups, DevicesOfEqualCosts(costs)) &&
         MirrorDevices(setting, groups, devices[0], setting.where) == devices;
}

std::vector<NamedOutcome> OutcomesByName(const PlanSetting& setting,
                                         const std::vector<std::vector<int>>& groups,
                                         const PlacedPlan& placed,
                                         const Outcome& outcome) {
  const Cluster& all = *setting.cluster;
  const Cluster& simulated = placed.problem->cluster();
  std::vector<int> stands_for(all.num_devices());
  for (int d = 0; d < all.num_devices(); ++d) stands_for[d] = d;
  for (std::size_t r = 1; r < groups.size(); ++r) {
    for (const auto& [own, other] : Counterparts(groups[0], groups[r])) {
      if (simulated.FindDevice(all.device(other).name) < 0) stands_for[other] = own;
    }
  }
  std::vector<NamedOutcome> outcomes;
  for (int d = 0; d < all.num_devices(); ++d) {
    const int as = simulated.FindDevice(all.device(stands_for[d]).name);
    outcomes.push_back({all.device(d).name, d, as < 0 ? DeviceOutcome{} : outcome.devices[as]});
  }
  for (int d = 0; d < simulated.num_devices(); ++d) {
    const std::string& name = simulated.device(d).name;
    if (all.FindDevice(name) < 0) outcomes.push_back({name, -1, outcome.devices[d]});
  }
  return outcomes;
}

PlanFigures FiguresOf(const PlanSetting& setting, const PlacedPlan& placed) {
  PlanFigures figures;
  figures.outcome = SimulatePlaced(setting, placed);
  const Cluster& cluster = placed.problem->cluster();
  std::set<int> used;
  for (int op = 0; op < placed.problem->num_ops(); ++op) {
    const int device = placed.device_of_op[op];
    if (!placed.problem->graph().op(op).IsStorage() && HasStages(cluster, device))
      used.insert(device);
  }
  const auto time = static_cast<double>(figures.outcome.step_time);
  double busy = 0, slots = 0;
  for (int d : used) {
    busy += static_cast<double>(figures.outcome.devices[d].busy);
    slots += cluster.device(d).slots;
  }
  if (time > 0 && slots > 0) figures.bubble = 1 - busy / (slots * time);
  PlacedPlan free = placed;
  free.problem = WithoutCommunication(placed.problem);
  if (time > 0) {
    const auto without = static_cast<double>(SimulatePlaced(setting, free).step_time);
    figures.communication = std::max(0.0, 1 - without / time);
  }
  return figures;
}

void WritePlacedPlan(const PlanSetting& setting,
                     const PlacedPlan& placed,
                     Nanos step_time,
                     const std::filesystem::path& folder) {
  const Problem& problem = *placed.problem;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RunError(fmt::format("{}: {}", folder.string(), error.message()));
  if (placed.issue_order.size() > kMostOrdered) {
    PrintWarning(
        fmt::format("{}: has {} ops, and `emplace simulate` reads issue orders of at most {}",
                    (folder / "placement.json.gz").string(),
                    placed.issue_order.size(),
                    kMostOrdered));
  }
  WriteGraph(problem.graph(), folder / "graph.json.gz");
  WriteFileAtomically(folder / "cluster.yaml", FormatCluster(problem.cluster()));
  SimulatedAs simulated;
  simulated.semantics = ToString(setting.semantics);
  simulated.costs = setting.costs;
  simulated.objective = ToString(setting.objective);
  simulated.step_time = step_time;
  WriteFileAtomically(
      folder / "placement.json.gz",
      FormatPlacement(
          placed.device_of_op, problem.graph(), problem.cluster(), placed.issue_order, simulated));
}

}  // namespace emplace
