#include "framework/plan/pipeline_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

#include "framework/base/error.h"

namespace emplace {
namespace {

/// A forward or backward pass of one micro-batch through one stage.
struct Pass {
  bool backward;
  int micro_batch;
};

/// Returns the passes of a stage in their order.
std::vector<Pass> PassesOf(int stage, int num_stages, int count, Schedule schedule) {
  std::vector<Pass> passes;
  const int ahead = schedule == Schedule::kGpipe ? count : std::min(count, num_stages - 1 - stage);
  int forward = 0, backward = 0;
  while (forward < ahead) passes.push_back({false, forward++});
  while (forward < count) {
    passes.push_back({false, forward++});
    passes.push_back({true, backward++});
  }
  while (backward < count) passes.push_back({true, backward++});
  return passes;
}

/// Begins of all passes of a pipeline whose passes take one unit.
struct Begins {
  std::vector<std::vector<int>> forward, backward;  // [stages][micro-batches]
};

Begins UnitPipeline(int num_stages, int count, Schedule schedule) {
  Begins begins;
  begins.forward.assign(num_stages, std::vector<int>(count, -1));
  begins.backward = begins.forward;
  std::vector<std::vector<Pass>> passes;
  for (int s = 0; s < num_stages; ++s) passes.push_back(PassesOf(s, num_stages, count, schedule));
  std::vector<std::size_t> next(num_stages);
  std::vector<int> free(num_stages);
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < num_stages; ++s) {
      while (next[s] < passes[s].size()) {
        const auto [backward, m] = passes[s][next[s]];
        int ready = 0;
        if (!backward && s > 0) ready = begins.forward[s - 1][m];
        if (backward && s < num_stages - 1) ready = begins.backward[s + 1][m];
        if (backward && s == num_stages - 1) ready = begins.forward[s][m];
        if (ready < 0) break;
        const bool first = !backward && s == 0;
        int& begin = (backward ? begins.backward : begins.forward)[s][m];
        begin = std::max(free[s], first ? 0 : ready + 1);
        free[s] = begin + 1;
        ++next[s];
        progress = true;
      }
    }
  }
  return begins;
}

/// Returns true for an all-reduce among replicas; collectives among ranks are parts of passes.
bool IsReduction(const PlannedOp& op) {
  return op.role == PlannedRole::kCollective && op.rank_group < 0;
}

}  // namespace

std::vector<int> PipelineOrder(const PlannedGraph& planned,
                               std::span<const int> stage_of_op,
                               int num_stages,
                               Schedule schedule) {
  const Graph& graph = planned.graph;
  int count = 1;
  for (const PlannedOp& op : planned.ops) count = std::max(count, op.micro_batch + 1);
  const Begins begins = UnitPipeline(num_stages, count, schedule);
  constexpr int kLast = std::numeric_limits<int>::max();
  std::vector<int> begin(graph.num_ops());
  const auto topological = graph.topological_order();
  for (auto i = topological.rbegin(); i != topological.rend(); ++i) {
    const Op& op = graph.op(*i);
    const PlannedOp& origin = planned.ops[*i];
    if (op.phase == Phase::kUpdate) {
      begin[*i] = kLast;
    } else if (IsReduction(origin) || op.IsStorage()) {
      // The begin of its first reader; that of a collective is replaced below.
      int least = kLast;
      for (int reader : graph.successors(*i)) least = std::min(least, begin[reader]);
      begin[*i] = least;
    } else {
      const auto& passes = op.phase == Phase::kForward ? begins.forward : begins.backward;
      begin[*i] = passes[stage_of_op[origin.op]][std::max(0, origin.micro_batch)];
    }
  }
  for (int op : topological) {
    if (!IsReduction(planned.ops[op])) continue;
    begin[op] = 0;
    for (int before : graph.predecessors(op)) begin[op] = std::max(begin[op], begin[before]);
  }

  using Key = std::tuple<int, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  std::vector<int> missing(graph.num_ops());
  for (int op = 0; op < graph.num_ops(); ++op) {
    missing[op] = static_cast<int>(graph.predecessors(op).size());
    if (missing[op] == 0) ready.emplace(begin[op], op);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int op = std::get<1>(ready.top());
    ready.pop();
    order.push_back(op);
    for (int after : graph.successors(op)) {
      if (--missing[after] == 0) ready.emplace(begin[after], after);
    }
  }
  return order;
}

std::vector<int> StagesOf(const Graph& step, std::span<const int> device_of_op, int& num_stages) {
  std::map<int, std::pair<double, int>> sums;  // of the positions, by device
  int position = 0;
  for (int op : step.topological_order()) {
    ++position;
    if (step.op(op).phase != Phase::kForward || step.op(op).IsStorage()) continue;
    auto& [sum, count] = sums[device_of_op[op]];
    sum += position;
    ++count;
  }
  std::vector<std::pair<double, int>> means;
  for (const auto& [device, entry] : sums) means.emplace_back(entry.first / entry.second, device);
  std::ranges::sort(means);
  num_stages = std::max(1, static_cast<int>(means.size()));
  std::map<int, int> stage;
  for (std::size_t i = 0; i < means.size(); ++i) stage[means[i].second] = static_cast<int>(i);
  std::vector<int> stages;
  for (int device : device_of_op) {
    const auto found = stage.find(device);
    stages.push_back(found == stage.end() ? num_stages - 1 : found->second);
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
