#pragma once

// What an expert would do by hand: rules from op names to devices.
//
// `rules` is a list, or the path of a YAML file that has it under `rules` (with `layers`):
//
//   layers: 4
//   rules:
//     - {match: "*encoder/lstm0/*", layer: 0}
//     - {match: ["*/softmax/*", "*/attention/*"], layer: 3}
//     - {match: "input/*", device: cpu}
//
// `layers`: how many the rules count, if any rule counts them. With L layers on G GPUs a layer goes
// to GPU floor(layer * G / L), or to GPU `layer` where G >= L. `device`: a device's name, or gpu or
// cpu, the first of that class.
//
// The first rule decides whose pattern, or one of whose patterns, matches all of the op's name: '*'
// stands for any characters (so "*encoder/lstm0/*" also matches the gradients and updates named
// after the layer), '?' for one. A rule that no op's name matches is refused: it was written for
// another graph. Ops that no rule matches follow the predecessor that sends them the most bytes, in
// topological order, and, if all their predecessors are undecided, the first reader that has a
// device, in reverse order; those connected to nothing decided go to the first GPU (or device, if
// there is none).
//
// `before` is a list of rules that come before those of `rules`: {match: "gradients/*", device:
// gpu} puts all gradients on the first GPU, where TensorFlow's placer has them unless the script
// asks for colocate_gradients_with_ops.
//
// Groups go to the device of the majority of their ops, weighted by mean cost (the first device
// among equals); if they may not run there, to the first allowed device of the other class, then to
// any. Evaluates one placement. Deterministic.
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
    v.Field("before", before, "list of rules that come before those of rules");
    v.Field(
        "layers", layers, Between(0, 1e6), "how many layers the rules count; 0: as the file says");
  }
};

struct ExpertRule {
  std::vector<std::string> patterns;
  int device = 0;
};

/// @param rules  the sequence
/// @param layers 0: `layer` is refused
/// @throws InputError with the place, for a rule of another form, an unknown device or a layer out
///   of range
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
  /// Gives the ops that are undecided the devices of a list of rules.
  void Apply(const ConfigNode& rules, int layers);

  std::vector<int> device_of_op_;  // -1: no rule matched
};

}  // namespace emplace
