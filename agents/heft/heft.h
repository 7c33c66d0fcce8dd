#pragma once

// Heterogeneous earliest finish time, and critical path on a processor.
//
// HEFT: ops in descending order of
//   rank_u(v) = w(v) + max over successors s of (c(v, s) + rank_u(s))
// (mean cost w, mean communication c), each onto the device on which it finishes first, possibly in
// an idle interval between ops already there (insertion).
//
// CPOP: priority(v) = rank_u(v) + rank_d(v). The ops of one critical path (from the source of
// highest priority along the successors of highest priority) all go to the device with the smallest
// total cost of the path. The other ops are taken by priority as they become ready, each onto the
// device on which it finishes first, with insertion.
//
// Messages never wait for each other, for the host or for devices that they occupy, and memory is
// not considered; the simulated step is therefore usually longer than the heuristic's own makespan.
// With groups, the first scheduled op of a group determines the device of the group: the device d
// that minimises its finish time plus the cost of the group's other ops on d. This is the classical
// rule if every op is its own group. See list_schedule.h for groups and free sources. Ties go to
// the device of least index. O(devices * (inputs + ops * log ops)), with the inputs of all ops.
//
// Reference: H. Topcuoglu, S. Hariri, M.-Y. Wu, Performance-Effective and Low-Complexity Task
// Scheduling for Heterogeneous Computing, IEEE TPDS 13(3), 2002, sections 4 and 5.

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

enum class HeftRule : std::uint8_t { kHeft, kCpop };

struct HeftSchedule {
  Placement placement;
  std::vector<double> upward_rank;   ///< [num_ops] [ns]
  std::vector<Nanos> start, finish;  ///< [num_ops], -1 for free sources [ns]
  Nanos makespan = 0;                ///< by the heuristic's own model [ns]
};

/// @param devices  mask of devices to use; a group allowed on none of them may use all its devices
/// @throws Interrupted
HeftSchedule ComputeHeft(const Problem& problem,
                         std::uint64_t devices,
                         HeftRule rule,
                         const Interrupt& interrupt = {});

struct HeftConfig {
  std::string devices = "all";
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
  }
};

template <HeftRule rule>
class HeftAgent final : public ConstructiveAgent {
 public:
  using Config = HeftConfig;
  /// @throws SettingError if the cluster has no such devices
  HeftAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::uint64_t devices_;
};

}  // namespace emplace
