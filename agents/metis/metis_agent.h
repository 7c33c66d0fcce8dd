#pragma once

// Graph partitioning by METIS.
//
// The groups form an undirected graph. The weight of a vertex is its mean cost over the devices;
// the weight of an edge is the bytes that are sent if its ends are on different devices. The
// partition uses recursive bisection. The devices are split into a first and a second half, and
// METIS's multilevel bisection cuts the vertices in two, so that the total weight of the cut edges
// is small and each side's weight is about its devices' share of the total speed. Each half is
// split in the same way until single devices remain. Over all levels a device may get (1 +
// imbalance) times its share, if the vertices allow it. METIS's own k-way calls bisect in the same
// way, but print to the standard output when a side becomes empty; the recursion is therefore
// implemented here.
//
// METIS does not know constraints, time or memory. Groups on devices where they are not allowed are
// repaired afterwards: each goes to the allowed device with which it shares the most bytes (ties go
// to the least loaded device). If there are at most as many groups as devices, the most expensive
// group gets the fastest device, and so on. Deterministic (fixed seed). METIS has global state, so
// that constructions on several threads take turns. Near-linear in groups and edges; an interrupt
// ends a construction between two bisections.
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
            "largest excess of a part over its target, as a share above 0");
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
