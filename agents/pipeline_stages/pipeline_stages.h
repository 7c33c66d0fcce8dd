#pragma once

// Pipeline stages of equal cost: the forward pass is cut into one contiguous stage per device in
// topological order, and the backward pass and the update of a stage go to its device. Users write
// such stages by hand; they are the baseline of pipelined training.
//
// An op with the attribute `forward_op` joins the stage of that op, an op with a `colocate` label
// the stage of the other ops with the label, an alias the stage of its tensor, and a parameter the
// stage of the first layer that reads it. The blocks are
// then those of agents/contiguous/contiguous.h, weighted by their forward and backward cost. Groups
// are kept. Ops that would join but share no allowed device are placed separately. Without any
// `forward_op` the result is that of `contiguous`.

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct PipelineStagesConfig {
  std::string devices = "gpu";
  void Visit(FieldVisitor& v) {
    v.Field("devices",
            devices,
            "devices with one stage each: gpu, cpu, all, or a pattern of device names");
  }
};

/// Returns the placement with one stage per device, in the order of `devices`.
/// @throws InputError as ColocateGradients() does
Placement PipelineStagesPlacement(const Problem& problem, const std::vector<int>& devices);

class PipelineStagesAgent final : public ConstructiveAgent {
 public:
  using Config = PipelineStagesConfig;
  /// @throws SettingError if the cluster has no such devices
  PipelineStagesAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;

  std::vector<int> devices_;
};

}  // namespace emplace
