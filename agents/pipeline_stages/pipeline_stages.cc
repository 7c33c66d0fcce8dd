#include "agents/pipeline_stages/pipeline_stages.h"

#include <memory>

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

}  // namespace

Placement PipelineStagesPlacement(const Problem& problem, const std::vector<int>& devices) {
  const Graph& graph = problem.graph();
  const Grouping joined = WithSharedDevices(
      problem, ColocateByLabel(graph, ColocateGradients(graph, problem.grouping())));
  const Problem stages(std::make_shared<const Graph>(graph),
                       joined,
                       std::make_shared<const Cluster>(problem.cluster()),
                       problem.costs(),
                       problem.objective(),
                       ProblemChecks::kPlacementOnly);
  return ContractPlacement(ExpandPlacement(ContiguousPlacement(stages, devices), joined),
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
