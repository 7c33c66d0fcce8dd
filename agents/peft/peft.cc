#include "agents/peft/peft.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "agents/shared/devices.h"
#include "agents/shared/list_schedule.h"

namespace emplace {
namespace {

/// @return [num_ops, num_devices] [ns]
std::vector<Nanos> OptimisticCosts(const Problem& problem,
                                   const OpInputs& inputs,
                                   std::uint64_t devices,
                                   const Interrupt& interrupt) {
  const MeanCommunication communication = ComputeMeanCommunication(problem.cluster(), devices);
  const std::size_t width = problem.num_devices();
  const auto order = problem.graph().topological_order();
  std::vector<Nanos> table(problem.num_ops() * width, 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    interrupt.Check();
    const int s = *it, group = problem.grouping().group_of(s);
    const std::uint64_t choices = Candidates(problem, group, devices);
    const auto own = [&](int e) { return table[s * width + e] + problem.costs().at(s, e); };
    Nanos least = kMaxNanos;  // on any device
    for (std::uint64_t m = choices; m != 0; m &= m - 1) {
      least = std::min(least, own(FirstDevice(m)));
    }
    for (const OpInput& input : inputs[s]) {
      const int other = problem.grouping().group_of(input.op);
      const Nanos message = std::llround(communication(input.bytes));
      for (std::uint64_t m = Candidates(problem, other, devices); m != 0; m &= m - 1) {
        const int d = FirstDevice(m);
        Nanos best = other == group ? own(d) : least + message;
        if (choices >> d & 1) best = std::min(best, own(d));
        Nanos& entry = table[input.op * width + d];
        entry = std::max(entry, best);
      }
    }
  }
  return table;
}

}  // namespace

PeftSchedule ComputePeft(const Problem& problem,
                         std::uint64_t devices,
                         const Interrupt& interrupt) {
  const OpInputs inputs(problem.graph());
  PeftSchedule peft;
  peft.optimistic_cost = OptimisticCosts(problem, inputs, devices, interrupt);
  for (int op = 0; op < problem.num_ops(); ++op) {
    const std::uint64_t mask = Candidates(problem, problem.grouping().group_of(op), devices);
    double sum = 0;
    for (std::uint64_t m = mask; m != 0; m &= m - 1) {
      sum += static_cast<double>(
          peft.optimistic_cost[std::size_t(op) * problem.num_devices() + FirstDevice(m)]);
    }
    peft.rank.push_back(sum / std::popcount(mask));
  }
  ListSchedule schedule(problem, inputs, devices);
  ScheduleReadyOps(problem, inputs, peft.rank, schedule, interrupt, [&](int op) {
    schedule.PlaceEarliestFinish(op, peft.optimistic_cost);
  });
  peft.placement = schedule.ToPlacement();
  peft.start = schedule.start();
  peft.finish = schedule.finish();
  peft.makespan = schedule.makespan();
  return peft;
}

PeftAgent::PeftAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("peft", context),
      devices_(MaskOf(SelectDevices(context.problem->cluster(), "devices", config.devices))) {
}

std::vector<Placement> PeftAgent::Construct() const {
  return {ComputePeft(problem(), devices_, interrupt()).placement};
}

}  // namespace emplace
