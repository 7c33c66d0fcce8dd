#include "agents/pipeline_stages/pipeline_stages.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "agents/contiguous/contiguous.h"
#include "agents/shared/devices.h"
#include "framework/graph/coarsen.h"
#include "framework/search/compiled_period.h"

namespace emplace {
namespace {

/// Returns labels of the groups for MergeGroups(): those of `joined`, without the merges of groups
/// that share no allowed device.
std::vector<int> LabelsOf(const Problem& problem, const Grouping& joined) {
  const auto label_of = [&](int group) {
    return joined.group_of(problem.grouping().members(group).front());
  };
  std::vector<std::uint64_t> allowed(joined.num_groups(), ~std::uint64_t{0});
  for (int group = 0; group < problem.num_groups(); ++group) {
    allowed[label_of(group)] &= problem.allowed_devices(group);
  }
  std::vector<int> label;
  for (int group = 0; group < problem.num_groups(); ++group) {
    label.push_back(allowed[label_of(group)] != 0 ? label_of(group) : joined.num_groups() + group);
  }
  return label;
}

/// Returns the groups with work, in the order of their first op that does any. Parameters and
/// constants do none, and come first in a topological order.
std::vector<int> OrderOfWork(const Graph& graph, const Grouping& grouping) {
  std::vector<int> order;
  std::vector<char> listed(grouping.num_groups(), 0);
  for (const int op : graph.topological_order()) {
    if (graph.op(op).IsStorage()) continue;
    const int group = grouping.group_of(op);
    if (!std::exchange(listed[group], 1)) order.push_back(group);
  }
  return order;
}

}  // namespace

Placement PipelineStagesPlacement(const Problem& problem, const std::vector<int>& devices) {
  const Graph& graph = problem.graph();
  const Grouping labelled = ColocateByLabel(graph, ColocateGradients(graph, problem.grouping()));
  const auto merged = MergeGroups(problem, LabelsOf(problem, ColocateParameters(graph, labelled)));
  const std::vector<int> order = OrderOfWork(graph, merged->grouping());
  return ContractPlacement(
      ExpandPlacement(ContiguousPlacement(*merged, devices, order), merged->grouping()),
      problem.grouping(),
      graph,
      problem.cluster());
}

PipelineStagesAgent::PipelineStagesAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("pipeline_stages", context),
      devices_(SelectDevices(context.problem->cluster(), "devices", config.devices)) {
}

std::vector<Placement> PipelineStagesAgent::Construct() const {
  return {PipelineStagesPlacement(problem(), devices_)};
}

}  // namespace emplace
