#pragma once

// Pipeline stages of equal cost: the forward pass is cut into one contiguous stage per device in
// topological order, and the backward pass and the update of a stage go to its device. It is what
// users write by hand, and the row that pipelined training begins with.
//
// An op that names its forward op (attribute `forward_op`), an op that shares a `colocate` label
// with others and an alias of a tensor join the stage of these; then the blocks are those of
// agents/contiguous/contiguous.h, each counted with its forward and backward cost. Groups are
// respected. What joins by these rules but shares no allowed device is placed as if it did not.
// Without any `forward_op` this is `contiguous`.

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/fields.h"

namespace emplace {

struct PipelineStagesConfig {
  std::string devices = "gpu";
  void Visit(FieldVisitor& v) {
    v.Field("devices", devices, "gpu, cpu, all, or a pattern of device names: one stage each");
  }
};

/// One stage per device, in the order of `devices`.
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
