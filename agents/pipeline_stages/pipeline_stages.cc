#include "agents/pipeline_stages/pipeline_stages.h"

#include <memory>
#include <utility>
#include <vector>

#include "agents/contiguous/contiguous.h"
#include "agents/shared/devices.h"
#include "framework/graph/coarsen.h"

namespace emplace {
namespace {

/// Returns `joined` without the merges of groups that share no allowed device; these groups stay
/// separate.
Grouping WithSharedDevices(const Problem& problem, const Grouping& joined) {
  std::vector<std::uint64_t> allowed(joined.num_groups(), ~std::uint64_t{0});
  for (int op = 0; op < problem.num_ops(); ++op) {
    allowed[joined.group_of(op)] &= problem.allowed_devices(problem.grouping().group_of(op));
  }
  std::vector<int> label;
  for (int op = 0; op < problem.num_ops(); ++op) {
    const int group = joined.group_of(op);
    label.push_back(allowed[group] != 0 ? group
                                        : joined.num_groups() + problem.grouping().group_of(op));
  }
  return Grouping(label);
}

/// Returns the groups in the order of their first op that is no parameter or constant, since those
/// come first in a topological order.
std::vector<int> OrderOfWork(const Graph& graph, const Grouping& grouping) {
  std::vector<int> order;
  std::vector<char> listed(grouping.num_groups(), 0);
  for (const bool storage : {false, true}) {
    for (const int op : graph.topological_order()) {
      if (graph.op(op).IsStorage() != storage) continue;
      const int group = grouping.group_of(op);
      if (!std::exchange(listed[group], 1)) order.push_back(group);
    }
  }
  return order;
}

}  // namespace

Placement PipelineStagesPlacement(const Problem& problem, const std::vector<int>& devices) {
  const Graph& graph = problem.graph();
  const Grouping labelled = ColocateByLabel(graph, ColocateGradients(graph, problem.grouping()));
  const Grouping joined = WithSharedDevices(problem, ColocateParameters(graph, labelled));
  const Problem stages(std::make_shared<const Graph>(graph),
                       joined,
                       std::make_shared<const Cluster>(problem.cluster()),
                       problem.costs(),
                       problem.objective(),
                       ProblemChecks::kPlacementOnly);
  const Placement placement = ContiguousPlacement(stages, devices, OrderOfWork(graph, joined));
  return ContractPlacement(
      ExpandPlacement(placement, joined), problem.grouping(), graph, problem.cluster());
}

PipelineStagesAgent::PipelineStagesAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("pipeline_stages", context),
      devices_(SelectDevices(context.problem->cluster(), "devices", config.devices)) {
}

std::vector<Placement> PipelineStagesAgent::Construct() const {
  return {PipelineStagesPlacement(problem(), devices_)};
}

}  // namespace emplace
