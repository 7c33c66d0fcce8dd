#pragma once

// Predict earliest finish time: HEFT's list scheduling with lookahead, at no higher cost.
//
// The optimistic cost table gives, for an op v on a device d, an optimistic estimate of the time of
// the rest of the graph after v, with every further op on its best device:
//
//   OCT(v, d) = max over successors s of v of
//               min over devices e of (OCT(s, e) + w(s, e) + (e == d ? 0 : c(v, s)))
//
// with costs w and mean communication c; 0 for an op without successors. Ready ops are taken by
// descending rank_oct(v) = mean over d of OCT(v, d), each onto the device d that minimises its
// finish time (with insertion) plus OCT(v, d).
//
// Groups, free sources and the neglected effects (waiting messages, the host, memory) are the same
// as for HEFT (agents/heft/heft.h). A successor of v's own group shares its device, so that e = d
// there. O(devices^2 * inputs + devices * ops * log ops), with the inputs of all ops.
//
// Reference: H. Arabnejad, J. G. Barbosa, List Scheduling Algorithm for Heterogeneous Systems by an
// Optimistic Cost Table, IEEE TPDS 25(3), 2014, section 4.

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct PeftSchedule {
  Placement placement;
  std::vector<Nanos> optimistic_cost;  ///< [num_ops, num_devices], 0 where not allowed [ns]
  std::vector<double> rank;            ///< [num_ops] rank_oct over the allowed devices [ns]
  std::vector<Nanos> start, finish;    ///< [num_ops], -1 for free sources [ns]
  Nanos makespan = 0;                  ///< by the heuristic's own model [ns]
};

/// @param devices  mask of devices to use; a group allowed on none of them may use all its devices
/// @throws Interrupted
PeftSchedule ComputePeft(const Problem& problem,
                         std::uint64_t devices,
                         const Interrupt& interrupt = {});

struct PeftConfig {
  std::string devices = "all";
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
  }
};

class PeftAgent final : public ConstructiveAgent {
 public:
  using Config = PeftConfig;
  /// @throws SettingError if the cluster has no such devices
  PeftAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::uint64_t devices_;
};

}  // namespace emplace
