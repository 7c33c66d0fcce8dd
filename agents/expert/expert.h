#pragma once

// An expert's placement by hand: rules from op names to devices.
//
// `rules` is a list, or the path of a YAML file that has the list under `rules` (with `layers`):
//
//   layers: 4
//   rules:
//     - {match: "*encoder/lstm0/*", layer: 0}
//     - {match: ["*/softmax/*", "*/attention/*"], layer: 3}
//     - {match: "input/*", device: cpu}
//
// `layers` is the number of layers, if any rule uses `layer`. With L layers on G GPUs a layer goes
// to GPU floor(layer * G / L), or to GPU `layer` if G >= L. `device` is a device's name, or gpu or
// cpu for the first device of that class.
//
// An op goes to the device of the first rule with a pattern that matches its whole name: '*' stands
// for any characters (so "*encoder/lstm0/*" also matches the gradients and updates named after the
// layer), '?' for one. A rule that matches no op is an error: it was written for another graph. An
// op without a matching rule follows the predecessor that sends it the most bytes, in topological
// order. If all its predecessors are undecided, it follows the first reader that has a device, in
// reverse order. Ops that are connected to no decided op go to the first GPU, or without GPUs to
// the first computing device (agents/shared/devices.h).
//
// `before` is a list of rules that come before those of `rules`. For example, {match:
// "gradients/*", device: gpu} puts all gradients on the first GPU, like TensorFlow's placer unless
// the script asks for colocate_gradients_with_ops.
//
// Groups go to the device of the majority of their ops, weighted by mean cost; ties go to the first
// device. If they may not run there, they go to the first allowed device of the other class, then
// to any allowed device. Evaluates one placement. Deterministic.
//
// Reference: A. Mirhoseini et al., ICML 2017, baseline "Expert-designed placement".

#include <string>
#include <vector>

#include "agents/shared/constructive_agent.h"
#include "framework/config/config_node.h"
#include "framework/config/fields.h"

namespace emplace {

struct ExpertConfig {
  ConfigNode rules;
  ConfigNode before;
  int layers = 0;
  void Visit(FieldVisitor& v) {
    v.Field("rules", rules, "list of {match, layer or device}, or the path of a file that has one");
    v.Field("before", before, "list of rules that are applied before those of `rules`");
    v.Field("layers",
            layers,
            Between(0, 1e6),
            "number of layers that the rules count; 0: the number in the file");
  }
};

struct ExpertRule {
  std::vector<std::string> patterns;
  int device = 0;
};

/// @param rules  the sequence
/// @param layers  number of layers; 0: `layer` is refused
/// @throws InputError with the position in the file, for a malformed rule, an unknown device or a
///   layer out of range
std::vector<ExpertRule> ParseExpertRules(const ConfigNode& rules,
                                         int layers,
                                         const Cluster& cluster);

class ExpertAgent final : public ConstructiveAgent {
 public:
  using Config = ExpertConfig;
  /// @throws InputError as ParseExpertRules, and for a rule that matches no op
  ExpertAgent(const AgentContext& context, const Config& config);

 private:
  std::vector<Placement> Construct() const override;
  /// Sets the devices of the undecided ops by a list of rules.
  void Apply(const ConfigNode& rules, int layers);

  std::vector<int> device_of_op_;  // -1: no rule matched
};

}  // namespace emplace
