#include "agents/scotch/scotch_agent.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>

#include <scotch.h>

#include "agents/shared/devices.h"
#include "agents/shared/partition_graph.h"
#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr SCOTCH_Num kSeed = 1;
constexpr double kCapacityUnits = 1000;  ///< of a device of mean speed
constexpr double kDistanceUnits = 4;     ///< of the shortest distance
constexpr double kMaxDistance = 1000;
constexpr int kMostRefined = 300'000;  ///< maximum number of groups that are refined

std::mutex scotch_mutex;

void Require(int status, const char* call) {
  if (status != 0) throw RunError(std::string("agent scotch: ") + call + " failed");
}

// RAII owners of Scotch's objects.
struct Arch {
  SCOTCH_Arch value;
  Arch() { Require(SCOTCH_archInit(&value), "SCOTCH_archInit"); }
  ~Arch() { SCOTCH_archExit(&value); }
};
struct MappingGraph {
  SCOTCH_Graph value;
  MappingGraph() { Require(SCOTCH_graphInit(&value), "SCOTCH_graphInit"); }
  ~MappingGraph() { SCOTCH_graphExit(&value); }
};
struct Strategy {
  SCOTCH_Strat value;
  Strategy() { Require(SCOTCH_stratInit(&value), "SCOTCH_stratInit"); }
  ~Strategy() { SCOTCH_stratExit(&value); }
};
struct Context {
  SCOTCH_Context value;
  Context() { Require(SCOTCH_contextInit(&value), "SCOTCH_contextInit"); }
  ~Context() { SCOTCH_contextExit(&value); }
};

/// Returns the distances of the ordered pairs of `devices`, symmetric. @return [n, n], 0 on the
/// diagonal
std::vector<SCOTCH_Num> Distances(const Cluster& cluster,
                                  const std::vector<int>& devices,
                                  double bytes) {
  const std::size_t n = devices.size();
  std::vector<double> time(n * n, 0);
  double shortest = INFINITY;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      const auto size = static_cast<std::int64_t>(bytes);
      const Nanos there = cluster.TransferTime(devices[a], devices[b], size);
      const Nanos back = cluster.TransferTime(devices[b], devices[a], size);
      if (there >= kMaxNanos || back >= kMaxNanos) {
        time[a * n + b] = INFINITY;
      } else {
        time[a * n + b] = static_cast<double>(there) / 2 + static_cast<double>(back) / 2;
        shortest = std::min(shortest, std::max(1.0, time[a * n + b]));
      }
    }
  }
  std::vector<SCOTCH_Num> distance(n * n, 0);
  for (std::size_t i = 0; i < n * n; ++i) {
    if (i / n == i % n) continue;
    const double units = std::isinf(time[i]) ? kMaxDistance : kDistanceUnits * time[i] / shortest;
    distance[i] = static_cast<SCOTCH_Num>(std::lround(std::clamp(units, 1.0, kMaxDistance)));
  }
  return distance;
}

/// Builds a complete graph over the devices, with `capacity` on the vertices and `distance` on the
/// edges.
void BuildArch(SCOTCH_Arch* arch,
               std::vector<SCOTCH_Num>& capacity,
               const std::vector<SCOTCH_Num>& distance) {
  const std::size_t n = capacity.size();
  const bool uniform = std::all_of(
      distance.begin(), distance.end(), [&](SCOTCH_Num d) { return d == 0 || d == distance[1]; });
  if (uniform) {
    Require(SCOTCH_archCmpltw(arch, static_cast<SCOTCH_Num>(n), capacity.data()),
            "SCOTCH_archCmpltw");
    return;
  }
  std::vector<SCOTCH_Num> offsets{0}, ends, lengths;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      ends.push_back(static_cast<SCOTCH_Num>(b));
      lengths.push_back(distance[a * n + b]);
    }
    offsets.push_back(static_cast<SCOTCH_Num>(ends.size()));
  }
  MappingGraph devices;
  Require(SCOTCH_graphBuild(&devices.value,
                            0,
                            static_cast<SCOTCH_Num>(n),
                            offsets.data(),
                            nullptr,
                            capacity.data(),
                            nullptr,
                            static_cast<SCOTCH_Num>(ends.size()),
                            ends.data(),
                            lengths.data()),
          "SCOTCH_graphBuild");
  Strategy bipartition;
  Require(SCOTCH_archBuild0(arch, &devices.value, 0, nullptr, &bipartition.value),
          "SCOTCH_archBuild0");
}

std::vector<std::int32_t> Map(const Cluster& cluster,
                              PartitionGraph& graph,
                              const std::vector<int>& devices,
                              const std::vector<double>& speeds,
                              const ScotchConfig& config) {
  const std::scoped_lock lock(scotch_mutex);
  SCOTCH_randomSeed(kSeed);
  SCOTCH_randomReset();

  std::vector<SCOTCH_Num> capacity, distance(devices.size() * devices.size(), 1);
  for (double speed : speeds) {
    capacity.push_back(std::max<SCOTCH_Num>(1, std::lround(std::min(speed, 1e5) * kCapacityUnits)));
  }
  if (config.distances) distance = Distances(cluster, devices, graph.mean_edge_bytes);
  Arch arch;
  BuildArch(&arch.value, capacity, distance);

  Context context;
  SCOTCH_contextRandomSeed(&context.value, kSeed);
  Require(SCOTCH_contextThreadSpawn(&context.value, 1, nullptr), "SCOTCH_contextThreadSpawn");
  MappingGraph groups, bound;
  Require(SCOTCH_graphBuild(&groups.value,
                            0,
                            graph.size(),
                            graph.offsets.data(),
                            nullptr,
                            graph.vertex_weight.data(),
                            nullptr,
                            static_cast<SCOTCH_Num>(graph.neighbors.size()),
                            graph.neighbors.data(),
                            graph.edge_weight.data()),
          "SCOTCH_graphBuild");
  Require(SCOTCH_contextBindGraph(&context.value, &groups.value, &bound.value),
          "SCOTCH_contextBindGraph");
  Strategy strategy;
  Require(SCOTCH_stratGraphMapBuild(
              &strategy.value,
              graph.size() > kMostRefined ? SCOTCH_STRATRECURSIVE : SCOTCH_STRATDEFAULT,
              static_cast<SCOTCH_Num>(devices.size()),
              config.imbalance),
          "SCOTCH_stratGraphMapBuild");
  std::vector<std::int32_t> part(graph.size());
  Require(SCOTCH_graphMap(&bound.value, &arch.value, &strategy.value, part.data()),
          "SCOTCH_graphMap");
  return part;
}

}  // namespace

ScotchAgent::ScotchAgent(const AgentContext& context, const Config& config)
    : ConstructiveAgent("scotch", context),
      devices_(SelectDevices(context.problem->cluster(), "devices", config.devices)),
      config_(config) {
}

std::vector<Placement> ScotchAgent::Construct() const {
  PartitionGraph graph = MakePartitionGraph(problem(), MaskOf(devices_));
  const std::vector<double> speeds = DeviceSpeeds(problem(), devices_);
  std::vector<std::int32_t> part;
  if (devices_.size() == 1) {
    part.assign(graph.size(), 0);
  } else if (graph.size() <= static_cast<int>(devices_.size())) {
    part = OneVertexPerPart(graph, speeds);
  } else {
    part = Map(problem().cluster(), graph, devices_, speeds, config_);
  }
  return {RepairPartition(problem(), graph, devices_, part)};
}

}  // namespace emplace
