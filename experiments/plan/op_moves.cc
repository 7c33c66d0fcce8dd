#include "experiments/plan/op_moves.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agents/hill_climb/hill_climb.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/graph/coarsen.h"

namespace emplace {
namespace {

constexpr std::size_t kFewOps = 2'000;  // threads do not pay for them

// Without restarts: a restart moves ops of all layers, which takes long to repair.
HillClimbConfig NoRestarts() {
  HillClimbConfig config;
  config.patience = 1'000'000'000;
  return config;
}

// Returns the graph with a label for each group of ops.
std::shared_ptr<const Graph> WithLabels(const Graph& graph, const Grouping& together) {
  std::vector<Tensor> tensors(graph.tensors().begin(), graph.tensors().end());
  std::vector<Op> ops(graph.ops().begin(), graph.ops().end());
  for (std::size_t op = 0; op < ops.size(); ++op) {
    ops[op].colocate = fmt::format("group {}", together.group_of(static_cast<int>(op)));
  }
  return std::make_shared<const Graph>(GraphLike(graph, std::move(tensors), std::move(ops)));
}

}  // namespace

MovedOps MoveOps(const PlanSetting& setting,
                 const PlacedPlan& placed,
                 std::int64_t evaluations,
                 const std::function<bool()>& stop) {
  const Problem& problem = *placed.problem;
  const Graph& step = *setting.step;
  const Grouping of_step = ColocateByLabel(step, Grouping::Identity(step.num_ops()));
  std::vector<int> together;
  for (const PlannedOp& op : placed.ops) {
    EMPLACE_CHECK(op.replica == 0);
    together.push_back(of_step.group_of(op.op));
  }
  MovedOps moved{.placed = placed, .outcome = {}};
  const Grouping grouping(together);
  moved.placed.problem = std::make_shared<const Problem>(
      WithLabels(problem.graph(), grouping),
      grouping,
      std::shared_ptr<const Cluster>(placed.problem, &problem.cluster()),
      problem.costs(),
      problem.objective(),
      ProblemChecks::kPlacementOnly);
  const int threads = placed.ops.size() > kFewOps ? NumCores() : 1;
  const auto simulator = PlacedSimulator(setting, moved.placed, threads);
  const Placement start = PlacementOf(moved.placed);
  const Outcome before = simulator->Evaluate(start);
  const HillClimbConfig config = NoRestarts();
  HillClimbAgent agent({.problem = moved.placed.problem}, config);
  agent.Adopt({start, {before.deficit(), before.step_time}});
  for (std::int64_t made = 0; made < evaluations && !agent.Finished() && !stop();
       made += config.batch) {
    agent.Step(*simulator);
  }
  moved.placed.device_of_op =
      ExpandPlacement(agent.best().placement, moved.placed.problem->grouping());
  moved.outcome = simulator->Evaluate(agent.best().placement);
  std::vector<bool> differs(step.num_ops());
  for (std::size_t op = 0; op < placed.ops.size(); ++op) {
    if (moved.placed.device_of_op[op] != placed.device_of_op[op]) differs[placed.ops[op].op] = true;
  }
  moved.num_moved = static_cast<int>(std::ranges::count(differs, true));
  return moved;
}

}  // namespace emplace
