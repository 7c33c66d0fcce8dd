#pragma once

// Graph partitioning by METIS.
//
// The groups form an undirected graph: a vertex weighs its mean cost over the devices, an edge the
// bytes that cross if its ends are apart. Recursive bisection: the devices are split into a first
// and a second half, METIS's multilevel bisection cuts the vertices in two, so that the weight of
// the cut edges is small and each side weighs about its devices' share of the total speed; and so
// on with each half until single devices are left. Over all levels a device may get (1 + imbalance)
// times its share, if the vertices allow. (METIS's own k-way calls bisect in the same way; they
// print to the standard output when a side runs empty, which is why the recursion is ours.)
//
// METIS knows nothing of constraints, of time or of memory. Groups it puts where they may not run
// are repaired afterwards: each goes to the allowed device with which it shares the most bytes (the
// least loaded among equals). Where there are no more groups than devices, the dearest group gets
// the fastest device. Deterministic (fixed seed). METIS keeps global state, so that constructions
// on several threads take turns. Near-linear in groups and edges; an interrupt ends a construction
// between two bisections.
//
// Reference: G. Karypis, V. Kumar, Multilevel k-way Partitioning Scheme for Irregular Graphs, J.
// Parallel and Distributed Computing 48 (1998).

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct MetisConfig {
  std::string devices = "gpu";
  double imbalance = 0.03;
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
    v.Field("imbalance",
            imbalance,
            Between(0.001, 10),
            "by which share a part may exceed its target, above 0");
  }
};

class MetisAgent final : public ConstructiveAgent {
 public:
  using Config = MetisConfig;
  /// @throws SettingError if the cluster has no such devices
  MetisAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::vector<int> devices_;
  double imbalance_;
};

}  // namespace emplace
