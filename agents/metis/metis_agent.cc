#include "agents/metis/metis_agent.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include <metis.h>

#include "agents/shared/devices.h"
#include "agents/shared/partition_graph.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr int kSeed = 1;

/// METIS uses the random generator of the C library and traps signals.
std::mutex metis_mutex;

/// Bisects the graph; side 0 gets about `share` of the weight. @return [n] side 0 or 1 of each
/// vertex
std::vector<std::int32_t> Bisect(PartitionGraph& graph, double share, double tolerance) {
  static_assert(sizeof(idx_t) == sizeof(std::int32_t), "METIS is built for 32-bit indices");
  idx_t num_vertices = graph.size(), constraints = 1, parts = 2, cut = 0;
  real_t targets[] = {static_cast<real_t>(share), static_cast<real_t>(1 - share)};
  real_t balance = static_cast<real_t>(tolerance);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = kSeed;
  options[METIS_OPTION_NUMBERING] = 0;
  std::vector<std::int32_t> side(graph.size());
  const std::scoped_lock lock(metis_mutex);
  const int status = METIS_PartGraphRecursive(&num_vertices,
                                              &constraints,
                                              graph.offsets.data(),
                                              graph.neighbors.data(),
                                              graph.vertex_weight.data(),
                                              nullptr,
                                              graph.edge_weight.data(),
                                              &parts,
                                              targets,
                                              &balance,
                                              options,
                                              &cut,
                                              side.data());
  if (status != METIS_OK) {
    throw RunError("agent metis: METIS_PartGraphRecursive failed with status " +
                   std::to_string(status));
  }
  return side;
}

/// Returns the part of each vertex, an index into `speeds`.
std::vector<std::int32_t> Partition(PartitionGraph& graph,
                                    const std::vector<double>& speeds,
                                    double tolerance,
                                    const Interrupt& interrupt) {
  interrupt.Check();
  std::vector<std::int32_t> part(graph.size(), 0);
  if (speeds.size() == 1 || graph.size() == 0) return part;
  if (graph.size() <= static_cast<int>(speeds.size())) return OneVertexPerPart(graph, speeds);
  const auto half = static_cast<std::ptrdiff_t>(speeds.size() / 2);
  const std::vector<double> speeds_of[] = {{speeds.begin(), speeds.begin() + half},
                                           {speeds.begin() + half, speeds.end()}};
  const double first = std::accumulate(speeds_of[0].begin(), speeds_of[0].end(), 0.0);
  const double second = std::accumulate(speeds_of[1].begin(), speeds_of[1].end(), 0.0);
  const std::vector<std::int32_t> side = Bisect(graph, first / (first + second), tolerance);
  for (int s = 0; s < 2; ++s) {
    std::vector<int> vertices;
    for (int v = 0; v < graph.size(); ++v) {
      if (side[v] == s) vertices.push_back(v);
    }
    PartitionGraph below = Subgraph(graph, vertices);
    const std::vector<std::int32_t> part_below =
        Partition(below, speeds_of[s], tolerance, interrupt);
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      part[vertices[i]] = part_below[i] + static_cast<std::int32_t>(s * half);
    }
  }
  return part;
}

}  // namespace

MetisAgent::MetisAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("metis", context),
      devices_(SelectDevices(context.problem->cluster(), "devices", config.devices)),
      imbalance_(config.imbalance) {
}

std::vector<Placement> MetisAgent::Construct() const {
  PartitionGraph graph = MakePartitionGraph(problem(), MaskOf(devices_));
  const std::vector<double> speeds = DeviceSpeeds(problem(), devices_);
  const double levels =
      std::ceil(std::log2(std::max<double>(2, static_cast<double>(speeds.size()))));
  const double tolerance = std::pow(1 + imbalance_, 1 / levels);
  const std::vector<std::int32_t> part = Partition(graph, speeds, tolerance, interrupt());
  return {RepairPartition(problem(), graph, devices_, part)};
}

}  // namespace emplace
