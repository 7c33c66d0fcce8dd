#pragma once

// Static mapping by Scotch.
//
// The groups form an undirected graph. The weight of a vertex is its mean cost over the devices;
// the weight of an edge is the bytes that are sent if its ends are on different devices. The
// devices form the architecture. Device d's capacity is its share of the total speed. The distance
// of two devices is the time of a message of mean edge size without other traffic, averaged over
// both directions, in quarters of the shortest such time. Dual recursive bipartitioning finds the
// mapping m that minimises
//
//   sum over edges {u, v} of bytes(u, v) * distance(m(u), m(v)),
//   load_d <= (1 + imbalance) * capacity_d
//
// As `scotch` it uses all devices, as `min_cut` only the GPUs. Scotch does not know constraints,
// the order of ops or memory. Groups on devices where they are not allowed are repaired afterwards
// as in metis_agent.h. Scotch is not called for graphs with at most as many groups as devices.
// Deterministic (fixed seed, one thread).
//
// Above 300,000 groups the final refinement of all parts together is skipped. On graphs with many
// long edges it takes far more than linear time (100 s instead of 13 s at 1,000,000 groups) for a
// cut that is only slightly better. An interrupt ends a construction before the mapping, not during
// it.
//
// Reference: F. Pellegrini, J. Roman, Scotch: A Software Package for Static Mapping by Dual
// Recursive Bipartitioning of Process and Architecture Graphs, HPCN-Europe 1996; A. Mirhoseini et
// al., ICML 2017, baselines "Scotch" and "MinCut".

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct ScotchConfig {
  std::string devices = "all";
  double imbalance = 0.05;
  bool distances = true;
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
    v.Field("imbalance",
            imbalance,
            Between(0.001, 10),
            "largest excess of a device's load over its target, as a share above 0");
    v.Field("distances", distances, "weigh bytes by the distance of the devices; false: all equal");
  }
};

class ScotchAgent final : public ConstructiveAgent {
 public:
  using Config = ScotchConfig;
  /// @throws SettingError if the cluster has no such devices
  ScotchAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::vector<int> devices_;
  Config config_;
};

}  // namespace emplace
