#pragma once

// Static mapping by Scotch.
//
// The groups form an undirected graph: a vertex weighs its mean cost over the devices, an edge the
// bytes that cross if its ends are apart. The devices form the architecture: device d's capacity is
// its share of the total speed, the distance of two devices is the mean of both directions' times
// for a message of the mean edge's size when alone, in quarters of the shortest one. Dual recursive
// bipartitioning finds the mapping m that minimises
//
//   sum over edges {u, v} of bytes(u, v) * distance(m(u), m(v)),   load_d <= (1 + imbalance) *
//   capacity_d
//
// As `scotch` it uses all devices, as `min_cut` the GPUs only. Scotch knows nothing of constraints,
// of the order of ops or of memory; groups it puts where they may not run are repaired afterwards
// as in metis_agent.h, and graphs with no more groups than devices are not given to it.
// Deterministic (fixed seed, one thread).
//
// Above 300,000 groups the parts are not refined all together after the recursion: on graphs with
// many long edges that takes time far above linear (100 s instead of 13 s at 1,000,000 groups), for
// a cut that is not much better. An interrupt ends a construction before the mapping, not within.
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
            "by which share a device's load may exceed its target, above 0");
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
