#include "framework/plan/pipeline_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

void RequireVirtualStages(int virtual_stages) {
  if (virtual_stages >= 1) return;
  throw SettingError("virtual_stages",
                     fmt::format("got {}, expected a number above 0", virtual_stages));
}

void RequireSchedule(int num_stages, int virtual_stages, int micro_batches, Schedule schedule) {
  RequireVirtualStages(virtual_stages);
  if (virtual_stages == 1) return;
  if (schedule != Schedule::kInterleaved) {
    throw SettingError("virtual_stages",
                       fmt::format("got {}, and a device has one with {}; choices: 1, or schedule "
                                   "interleaved",
                                   virtual_stages,
                                   NameOf(schedule)));
  }
  if (num_stages == 1) {
    throw SettingError("schedule",
                       "interleaved needs several stages, and a replica has one; choices: gpipe, "
                       "1f1b");
  }
  if (micro_batches % num_stages != 0) {
    throw SettingError("micro_batches",
                       fmt::format("got {}, expected a multiple of the {} stages, as the schedule "
                                   "is interleaved",
                                   micro_batches,
                                   num_stages));
  }
}

/// Returns the begins of all passes, as PassEnds(), of a pipeline whose passes take one unit.
std::array<std::vector<Nanos>, 2> UnitPipeline(std::span<const std::vector<Pass>> passes,
                                               int num_stages,
                                               int micro_batches) {
  const std::vector<PassTimes> unit(num_stages, PassTimes{.forward = 1, .backward = 1});
  auto begins = PassEnds(passes, unit, micro_batches);
  for (std::vector<Nanos>& of : begins) {
    for (Nanos& begin : of) --begin;
  }
  return begins;
}

/// Cuts the ops of each device into at most `count` parts, where most ops of other devices are in
/// between. [ops] the number of the part
std::vector<int> PartsOf(std::span<const int> ops, std::span<const int> device_of_op, int count) {
  std::map<int, std::vector<int>> places;  // in `ops`, by device
  for (int i = 0; i < std::ssize(ops); ++i) places[device_of_op[ops[i]]].push_back(i);
  std::vector<int> part(ops.size());
  for (const auto& [device, of] : places) {
    std::vector<std::pair<int, std::size_t>> cuts;
    for (std::size_t i = 1; i < of.size(); ++i) cuts.emplace_back(of[i - 1] - of[i], i);
    std::ranges::sort(cuts);
    if (std::ssize(cuts) >= count) cuts.resize(count - 1);
    for (const auto& [gap, first] : cuts) {
      for (std::size_t i = first; i < of.size(); ++i) ++part[of[i]];
    }
  }
  return part;
}

/// Returns true for an all-reduce among replicas; collectives among ranks are parts of passes.
bool IsReduction(const PlannedOp& op) {
  return op.role == PlannedRole::kCollective && op.rank_group < 0;
}

}  // namespace

const std::vector<std::string>& ScheduleNames() {
  static const std::vector<std::string> kNames = {"gpipe", "1f1b", "interleaved"};
  return kNames;
}

const std::string& NameOf(Schedule schedule) {
  return ScheduleNames()[static_cast<std::size_t>(schedule)];
}

Schedule ParseSchedule(std::string_view name, std::string_view where) {
  const std::vector<std::string>& names = ScheduleNames();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) ThrowUnknown(where, "schedule", name, names);
  return static_cast<Schedule>(found - names.begin());
}

std::vector<std::vector<Pass>> PassesOf(int num_stages,
                                        int virtual_stages,
                                        int micro_batches,
                                        Schedule schedule) {
  RequireSchedule(num_stages, virtual_stages, micro_batches, schedule);
  const int count = micro_batches * virtual_stages;
  std::vector<std::vector<Pass>> passes(num_stages);
  for (int s = 0; s < num_stages; ++s) {
    const auto add = [&](bool backward, int number) {
      const int part = number / num_stages % virtual_stages;
      const int round = number / (num_stages * virtual_stages);
      passes[s].push_back({backward,
                           (backward ? virtual_stages - 1 - part : part) * num_stages + s,
                           round * num_stages + number % num_stages});
    };
    const int following = num_stages - 1 - s;
    int ahead = schedule == Schedule::kGpipe ? count : following;
    if (virtual_stages > 1) ahead = 2 * following + (virtual_stages - 1) * num_stages;
    ahead = std::min(ahead, count);
    for (int i = 0; i < ahead; ++i) add(false, i);
    for (int i = 0; i < count; ++i) {
      if (ahead + i < count) add(false, ahead + i);
      add(true, i);
    }
  }
  return passes;
}

std::array<std::vector<Nanos>, 2> PassEnds(std::span<const std::vector<Pass>> passes,
                                           std::span<const PassTimes> times,
                                           int micro_batches) {
  const int last = static_cast<int>(times.size()) - 1;
  std::array<std::vector<Nanos>, 2> ends;
  ends.fill(std::vector<Nanos>(times.size() * micro_batches, -1));  // -1: not yet
  std::vector<std::size_t> next(passes.size());
  std::vector<Nanos> free(passes.size());
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t d = 0; d < passes.size(); ++d) {
      for (; next[d] < passes[d].size(); ++next[d], progress = true) {
        const auto [backward, stage, m] = passes[d][next[d]];
        const auto end = [&](int direction, int of) -> Nanos& {
          return ends[direction][std::size_t(of) * micro_batches + m];
        };
        Nanos ready = 0, delay = 0;
        if (!backward && stage > 0) {
          ready = end(0, stage - 1);
          delay = times[stage - 1].send;
        } else if (backward) {
          ready = stage < last ? end(1, stage + 1) : end(0, stage);
          delay = stage < last ? times[stage].receive : 0;
        }
        if (ready < 0) break;
        free[d] = std::max(free[d], ready + delay);
        free[d] += backward ? times[stage].backward + (m > 0 ? times[stage].sum : 0)
                            : times[stage].forward;
        end(backward, stage) = free[d];
      }
    }
  }
  return ends;
}

std::vector<int> PipelineOrder(const PlannedGraph& planned,
                               std::span<const int> stage_of_op,
                               int num_stages,
                               Schedule schedule,
                               int virtual_stages) {
  const Graph& graph = planned.graph;
  int count = 1;
  for (const PlannedOp& op : planned.ops) count = std::max(count, op.micro_batch + 1);
  const auto begins = UnitPipeline(
      PassesOf(num_stages, virtual_stages, count, schedule), num_stages * virtual_stages, count);
  constexpr Nanos kLast = kMaxNanos;
  std::vector<Nanos> begin(graph.num_ops());
  const auto topological = graph.topological_order();
  for (auto i = topological.rbegin(); i != topological.rend(); ++i) {
    const Op& op = graph.op(*i);
    const PlannedOp& origin = planned.ops[*i];
    if (op.phase == Phase::kUpdate) {
      begin[*i] = kLast;
    } else if (IsReduction(origin) || op.IsStorage()) {
      // The begin of its first reader; that of a collective is replaced below.
      Nanos least = kLast;
      for (int reader : graph.successors(*i)) least = std::min(least, begin[reader]);
      begin[*i] = least;
    } else {
      begin[*i] = begins[op.phase == Phase::kBackward][std::size_t(stage_of_op[origin.op]) * count +
                                                       std::max(0, origin.micro_batch)];
    }
  }
  for (int op : topological) {
    if (!IsReduction(planned.ops[op])) continue;
    begin[op] = 0;
    for (int before : graph.predecessors(op)) begin[op] = std::max(begin[op], begin[before]);
  }

  using Key = std::pair<Nanos, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  std::vector<int> missing(graph.num_ops());
  for (int op = 0; op < graph.num_ops(); ++op) {
    missing[op] = static_cast<int>(graph.predecessors(op).size());
    if (missing[op] == 0) ready.emplace(begin[op], op);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (int after : graph.successors(op)) {
      if (--missing[after] == 0) ready.emplace(begin[after], after);
    }
  }
  return order;
}

std::vector<int> StagesOf(const Graph& step,
                          std::span<const int> device_of_op,
                          int& num_stages,
                          int virtual_stages) {
  RequireVirtualStages(virtual_stages);
  std::map<int, std::pair<double, int>> sums;  // of the positions, by device
  std::vector<int> forward, backward;
  int position = 0;
  for (int op : step.topological_order()) {
    ++position;
    if (step.op(op).phase == Phase::kBackward) backward.push_back(op);
    if (step.op(op).phase != Phase::kForward || step.op(op).IsStorage()) continue;
    forward.push_back(op);
    auto& [sum, count] = sums[device_of_op[op]];
    sum += position;
    ++count;
  }
  std::vector<std::pair<double, int>> means;
  for (const auto& [device, entry] : sums) means.emplace_back(entry.first / entry.second, device);
  std::ranges::sort(means);
  num_stages = std::max(1, static_cast<int>(means.size()));
  std::map<int, int> stage;
  for (std::size_t i = 0; i < means.size(); ++i) {
    stage[means[i].second] = static_cast<int>(i);
    const int ops = sums[means[i].second].second;
    if (virtual_stages <= ops) continue;
    throw SettingError(
        "virtual_stages",
        fmt::format(
            "got {}, expected at most {}, the forward ops of stage {}", virtual_stages, ops, i));
  }
  std::vector<int> stages;
  for (int device : device_of_op) {
    const auto found = stage.find(device);
    stages.push_back(found == stage.end() ? num_stages - 1 : found->second);
  }
  std::ranges::reverse(backward);
  for (const std::vector<int>& ops : {forward, backward}) {
    const std::vector<int> part = PartsOf(ops, device_of_op, virtual_stages);
    for (std::size_t i = 0; i < ops.size(); ++i) stages[ops[i]] += part[i] * num_stages;
  }
  return stages;
}

Graph InOrder(const Graph& graph, std::span<const int> device_of_op, std::span<const int> order) {
  std::vector<Tensor> tensors(graph.tensors().begin(), graph.tensors().end());
  std::vector<Op> ops(graph.ops().begin(), graph.ops().end());
  std::map<int, int> last;
  for (int op : order) {
    if (graph.op(op).IsStorage() || device_of_op[op] < 0) continue;
    const auto [entry, first] = last.emplace(device_of_op[op], op);
    if (first) continue;
    std::vector<int>& control = ops[op].control_inputs;
    if (std::ranges::find(control, entry->second) == control.end())
      control.push_back(entry->second);
    entry->second = op;
  }
  return GraphLike(graph, std::move(tensors), std::move(ops));
}

}  // namespace emplace
