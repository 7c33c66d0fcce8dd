#include "profilers/measure/apart_times.h"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

// A command that runs on a device, and its figures there.
struct TracedActivity {
  Nanos start = 0, finish = 0;
  Interference figures;
};

// @return device; -1: the command belongs to none
int HomeOf(const Problem& problem,
           std::span<const DeviceIndex> device_of_op,
           const ExecutionPlan& plan,
           const PlanCommand& command) {
  if (command.type == PlanCommand::Type::kOp) return device_of_op[command.op];
  const Occupies occupies = problem.cluster().channel(command.stream - plan.num_devices).occupies;
  if (OccupiesSource(occupies)) return command.source.device;
  if (OccupiesDestination(occupies)) return command.destinations.at(0).device;
  return -1;
}

Interference FiguresOf(const Problem& problem, const PlanCommand& command, int home) {
  if (command.type == PlanCommand::Type::kOp) {
    return problem.costs().interference_at(command.op, home);
  }
  const auto& classes = problem.cluster().kind_of(home).interference;
  const auto found = classes.find(kTransferClass);
  return found == classes.end() ? Interference{} : found->second;
}

}  // namespace

std::vector<double> ApartTimes(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               const ExecutionPlan& plan,
                               const StepRecord& trace) {
  const int num_devices = problem.num_devices();
  std::vector<std::vector<TracedActivity>> of_device(num_devices);
  std::vector<double> apart;
  for (size_t c = 0; c < plan.commands.size(); ++c) {
    apart.push_back(static_cast<double>(trace.finish[c] - trace.start[c]));
    const int home = HomeOf(problem, device_of_op, plan, plan.commands[c]);
    if (home < 0 || trace.finish[c] == trace.start[c]) continue;
    of_device[home].push_back(
        {trace.start[c], trace.finish[c], FiguresOf(problem, plan.commands[c], home)});
  }
  for (auto& activities : of_device) {
    std::ranges::sort(activities, {}, [](const TracedActivity& a) { return a.finish; });
  }
  std::vector<std::pair<Nanos, std::int64_t>> changes;  // of the excess, by time
  for (size_t c = 0; c < plan.commands.size(); ++c) {
    const int home = HomeOf(problem, device_of_op, plan, plan.commands[c]);
    if (home < 0) continue;
    const Interference figures = FiguresOf(problem, plan.commands[c], home);
    changes.clear();
    for (int e = 0; e < num_devices; ++e) {
      if (!(problem.cluster().device(home).neighbors >> e & 1)) continue;
      auto other = std::ranges::upper_bound(
          of_device[e], trace.start[c], {}, [](const TracedActivity& a) { return a.finish; });
      // One command after another on a device: those that finish later start later.
      for (; other != of_device[e].end() && other->start < trace.finish[c]; ++other) {
        const std::int64_t excess = InterferenceExcess(figures, other->figures);
        changes.emplace_back(std::max(other->start, trace.start[c]), excess);
        changes.emplace_back(std::min(other->finish, trace.finish[c]), -excess);
      }
    }
    std::ranges::sort(changes);
    double work = 0;  // in 1/1024 ns
    Nanos since = trace.start[c];
    std::int64_t excess = 0;
    changes.emplace_back(trace.finish[c], 0);
    for (const auto& [time, change] : changes) {
      work += static_cast<double>(InterferenceRate(excess)) * static_cast<double>(time - since);
      since = time;
      excess += change;
    }
    apart[c] = work / kInterferenceOne;
  }
  return apart;
}

}  // namespace emplace
