#pragma once

// Earliest task first, and its memory-aware form.
//
// ETF: of all pairs of a ready op v and a device d, repeatedly take the pair that can start first,
//   start(v, d) = max(time from which d is idle, latest arrival of v's inputs on d),
//
// m-ETF (`memory_aware`) also tracks the free memory of every device. A group permanently occupies,
// on its device, the bytes of all tensors that its ops make (aliases count nothing) plus its
// largest workspace, as Baechi counts for training. This is conservative, since activations are
// released in reality; `count_outputs: false` counts only parameters, buffers and optimiser state.
// A pair that does not fit is dropped and not considered again. An op that no longer fits on any
// device goes to the device with the most free memory, so that there is always a placement,
// feasible or not. Received copies and graph inputs are not counted.
//
// With favourite children (agents/m_sct) a device may also wait. It is reserved for the favourite
// child of its last op from the time when the child is ready, if no device could start the child
// earlier. Until then it takes only ops whose inputs have reached every device, in the usual order.
//
// Groups are fixed by their first scheduled op, parameters by their first reader (list_schedule.h).
// Deterministic; O(devices * (inputs + ops * log ops)), with the inputs of all ops.
//
// References: J.-J. Hwang, Y.-C. Chow, F. D. Anger, C.-Y. Lee, Scheduling Precedence Graphs in
// Systems with Interprocessor Communication Times, SIAM J. Computing 18(2), 1989; B. Jeon et al.,
// Baechi: Fast Device Placement of Machine Learning Graphs, SoCC 2020, section 3 (m-ETF).

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct EtfConfig {
  std::string devices = "gpu";
  bool memory_aware = false;
  bool count_outputs = true;
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names");
    v.Field("memory_aware", memory_aware, "leave out devices without memory for the group (m-ETF)");
    v.Field("count_outputs",
            count_outputs,
            "with memory_aware: count every tensor, not only parameters");
  }
};

struct EtfSchedule {
  Placement placement;
  std::vector<Nanos> start, finish;  ///< [num_ops], -1 for free sources [ns]
  Nanos makespan = 0;                ///< by the heuristic's own model [ns]
};

/// @param devices  mask of devices to use; a group allowed on none of them may use all its devices
/// @param memory_aware, count_outputs  same meaning as the settings
/// @param favorite_child  [num_ops] an op or -1; empty: none
/// @throws Interrupted
EtfSchedule ComputeEtf(const Problem& problem,
                       std::uint64_t devices,
                       bool memory_aware,
                       bool count_outputs = true,
                       const Interrupt& interrupt = {},
                       std::vector<int> favorite_child = {});

class EtfAgent final : public ConstructiveAgent {
 public:
  using Config = EtfConfig;
  /// @throws SettingError if the cluster has no such devices
  EtfAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::uint64_t devices_;
  Config config_;
};

}  // namespace emplace
