#pragma once

// Small communication times, within the devices' memory (m-SCT of Baechi).
//
// Where messages take less time than ops, every op can have at most one *favourite child*: a
// successor that starts on its device before it could start anywhere else. The favourite children
// are determined by the relaxation of an integer program for a machine with one device per op:
//
//   min w  s.t.  s_i + p_i + c_ij x_ij <= s_j          for every dependency i -> j
//                s_i + p_i <= w                        for every op i
//                sum over j of x_ij >= successors(i) - 1
//                sum over i of x_ij >= predecessors(j) - 1
//                s >= 0,  0 <= x <= 1
//
// with mean costs p and mean communication c; x_ij = 0 means that j runs on i's device. j is the
// favourite child of i if x_ij < 1/2, which holds for at most one j of every i and one i of every
// j. The ops are then scheduled as by m-ETF (agents/etf/etf.h, which describes how memory is
// counted), but a device waits for the favourite child of its last op if it can start it first.
// Before the child it takes only urgent ops, whose inputs have reached every device.
//
// Ops of one group count as one device: dependencies within a group and on free sources
// (agents/shared/list_schedule.h) have no x. The program usually has many optima; CLP's dual
// simplex method always finds the same one.
//
// Time: the simplex method grows faster than linearly in ops and dependencies (3 to 11 s for 20,000
// to 30,000 ops, more than a minute for 40,000), hence the limit `most_ops`. Scheduling takes the
// time of m-ETF; a waiting device scans all ready ops.
//
// References: B. Jeon et al., Baechi: Fast Device Placement of Machine Learning Graphs, SoCC 2020,
// section 3 (m-SCT); C. Hanen, A. Munier, An approximation algorithm for scheduling dependent tasks
// on m processors with small communication delays, Discrete Applied Mathematics 108, 2001.

#include <string>
#include <vector>

#include "agents/etf/etf.h"
#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct MSctConfig {
  std::string devices = "gpu";
  bool count_outputs = true;
  int most_ops = 30'000;
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
    v.Field("count_outputs", count_outputs, "count every tensor as memory, not only parameters");
    v.Field("most_ops",
            most_ops,
            "largest graph [ops] that is accepted; the linear program takes long on larger ones");
  }
};

/// Returns the favourite child of each op according to the linear program, or -1. @return [num_ops]
/// @param devices  mask of devices to use, as for ComputeEtf()
/// @throws Interrupted; RunError if the solver fails
std::vector<int> FavoriteChildren(const Problem& problem,
                                  std::uint64_t devices,
                                  const Interrupt& interrupt = {});

class MSctAgent final : public ConstructiveAgent {
 public:
  using Config = MSctConfig;
  /// @throws SettingError if the cluster has no such devices, or the graph more than `most_ops` ops
  MSctAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::uint64_t devices_;
  Config config_;
};

}  // namespace emplace
