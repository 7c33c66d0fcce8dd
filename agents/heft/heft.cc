#include "agents/heft/heft.h"

#include <algorithm>

#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"

namespace emplace {
namespace {

std::vector<bool> CriticalPath(const Problem& problem,
                               const ListSchedule& schedule,
                               const std::vector<double>& priority) {
  const Graph& graph = problem.graph();
  std::vector<bool> on_path(problem.num_ops(), false);
  const auto best_of = [&](auto&& ops) {
    int best = -1;
    for (int op : ops) {
      if (schedule.IsFreeSource(op)) continue;
      if (best < 0 || priority[op] > priority[best]) best = op;
    }
    return best;
  };
  std::vector<int> sources;
  for (int op : graph.topological_order()) {
    const auto before = graph.predecessors(op);
    if (std::all_of(
            before.begin(), before.end(), [&](int p) { return schedule.IsFreeSource(p); })) {
      sources.push_back(op);
    }
  }
  for (int op = best_of(sources); op >= 0; op = best_of(graph.successors(op))) on_path[op] = true;
  return on_path;
}

/// Returns the device with the smallest total cost of the path, with forbidden ops counted at their
/// mean cost; -1 if no op of the path may run on any preferred device.
int PathDevice(const Problem& problem,
               const std::vector<bool>& on_path,
               const std::vector<double>& cost,
               std::uint64_t devices) {
  int best = -1;
  double best_total = 0;
  for (std::uint64_t m = devices; m != 0; m &= m - 1) {
    const int d = FirstDevice(m);
    double total = 0;
    bool any = false;
    for (int op = 0; op < problem.num_ops(); ++op) {
      if (!on_path[op]) continue;
      const bool allowed = problem.allowed(problem.grouping().group_of(op), d);
      any |= allowed;
      total += allowed ? static_cast<double>(problem.costs().at(op, d)) : cost[op];
    }
    if (!any || (best >= 0 && total >= best_total)) continue;
    best = d;
    best_total = total;
  }
  return best;
}

void ScheduleHeft(const Problem& problem,
                  const std::vector<double>& rank,
                  const Interrupt& interrupt,
                  ListSchedule& schedule) {
  for (int op : OrderByRank(problem.graph(), rank)) {
    interrupt.Check();
    if (!schedule.IsFreeSource(op)) schedule.PlaceEarliestFinish(op);
  }
}

void ScheduleCpop(const Problem& problem,
                  const OpInputs& inputs,
                  const std::vector<double>& cost,
                  const std::vector<double>& priority,
                  std::uint64_t devices,
                  const Interrupt& interrupt,
                  ListSchedule& schedule) {
  const std::vector<bool> on_path = CriticalPath(problem, schedule, priority);
  const int path_device = PathDevice(problem, on_path, cost, devices);
  ScheduleReadyOps(problem, inputs, priority, schedule, interrupt, [&](int op) {
    if (on_path[op] && path_device >= 0 && (schedule.CandidatesOf(op) >> path_device & 1)) {
      const Nanos arrival = schedule.DataReady(op, path_device);
      schedule.Place(op, path_device, schedule.EarliestStart(op, path_device, arrival, true));
    } else {
      schedule.PlaceEarliestFinish(op);
    }
  });
}

}  // namespace

HeftSchedule ComputeHeft(const Problem& problem,
                         std::uint64_t devices,
                         HeftRule rule,
                         const Interrupt& interrupt) {
  const OpInputs inputs(problem.graph());
  const MeanCommunication communication = ComputeMeanCommunication(problem.cluster(), devices);
  const std::vector<double> cost = MeanOpCosts(problem, devices);
  std::vector<double> rank = UpwardRanks(problem, inputs, cost, communication);
  ListSchedule schedule(problem, inputs, devices);
  if (rule == HeftRule::kHeft) {
    ScheduleHeft(problem, rank, interrupt, schedule);
  } else {
    std::vector<double> priority = DownwardRanks(problem, inputs, cost, communication);
    for (int op = 0; op < problem.num_ops(); ++op) priority[op] += rank[op];
    ScheduleCpop(problem, inputs, cost, priority, devices, interrupt, schedule);
  }
  return {schedule.ToPlacement(),
          std::move(rank),
          schedule.start(),
          schedule.finish(),
          schedule.makespan()};
}

template <HeftRule rule>
HeftAgent<rule>::HeftAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent(rule == HeftRule::kHeft ? "heft" : "cpop", context),
      devices_(MaskOf(SelectDevices(context.problem->cluster(), "devices", config.devices))) {
}

template <HeftRule rule>
std::vector<Placement> HeftAgent<rule>::Construct() const {
  return {ComputeHeft(problem(), devices_, rule, interrupt()).placement};
}

template class HeftAgent<HeftRule::kHeft>;
template class HeftAgent<HeftRule::kCpop>;

}  // namespace emplace
