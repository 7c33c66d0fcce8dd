#pragma once

// Graphs with module paths, as `emplace import --from torch` writes them, from one line an op.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "framework/cost/cost_model.h"
#include "framework/search/problem.h"

namespace emplace::testing {

/// An op with one output of the same name.
struct ModuleOp {
  std::string name, module;
  std::vector<std::string> inputs = {};  ///< ops whose output it reads
  Nanos cost = 0;                        ///< on every kind of device [ns]
  Phase phase = Phase::kForward;
  std::string forward_op = "";
};

/// A parameter, or with kOptimizerState a state beside one.
inline ModuleOp State(const std::string& name, const std::string& module) {
  return {name, module, {}, -1};
}

inline std::shared_ptr<const Graph> ModuleGraph(const std::vector<ModuleOp>& specs) {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::map<std::string, int> id;
  for (const ModuleOp& spec : specs) {
    const bool is_state = spec.cost < 0;
    Op op;
    op.name = spec.name;
    op.kind = is_state ? "parameter" : "aten.any";
    for (const std::string& input : spec.inputs) op.inputs.push_back(id.at(input));
    op.outputs = {static_cast<int>(ops.size())};
    op.phase = spec.phase;
    if (!is_state) op.cost_ns = {{"c", double(spec.cost)}, {"g", double(spec.cost)}};
    std::string attributes;
    if (!spec.module.empty()) attributes = fmt::format(R"("module":"{}")", spec.module);
    if (!spec.forward_op.empty())
      attributes += fmt::format(R"(,"forward_op":"{}")", spec.forward_op);
    if (attributes.starts_with(',')) attributes.erase(0, 1);
    if (!attributes.empty()) op.attributes = "{" + attributes + "}";
    id[spec.name] = static_cast<int>(ops.size());
    Tensor tensor;
    tensor.bytes = 8;
    if (is_state) {
      tensor.role =
          spec.phase == Phase::kUpdate ? TensorRole::kOptimizerState : TensorRole::kParameter;
    }
    tensors.push_back(tensor);
    ops.push_back(std::move(op));
  }
  return std::make_shared<const Graph>("net", std::move(tensors), std::move(ops));
}

/// cpu:0 and gpu:0 ... without routes.
inline std::shared_ptr<const Cluster> CpuAndGpus(int gpus) {
  DeviceKind cpu{.name = "c", .device_class = DeviceClass::kCpu}, gpu{.name = "g"};
  std::vector<Device> devices = {{.name = "cpu:0", .kind = 0}};
  for (int i = 0; i < gpus; ++i) devices.push_back({.name = fmt::format("gpu:{}", i), .kind = 1});
  const size_t pairs = devices.size() * devices.size();
  return std::make_shared<const Cluster>("box",
                                         std::vector<DeviceKind>{cpu, gpu},
                                         std::move(devices),
                                         std::vector<Channel>{},
                                         std::vector<std::vector<int>>(pairs));
}

inline Problem OpByOp(const std::shared_ptr<const Graph>& graph,
                      const std::shared_ptr<const Cluster>& cluster) {
  return Problem(graph,
                 Grouping::Identity(graph->num_ops()),
                 cluster,
                 ComputeCosts(*graph, *cluster),
                 Objective::kStepTime,
                 ProblemChecks::kPlacementOnly);
}

/// Two embeddings added in the root, a residual block, a module `tower` whose own op joins its two
/// children, a parameter of the root, and a head that is tied to the first embedding.
inline std::vector<ModuleOp> SmallNet() {
  const Phase backward = Phase::kBackward, update = Phase::kUpdate;
  ModuleOp momentum = State("scale.momentum", "");
  momentum.phase = update;
  return {
      State("emb.weight", "emb"),
      State("pos.weight", "pos"),
      State("block.fc.weight", "block.fc"),
      State("scale", ""),
      {"emb/embedding", "emb", {"emb.weight"}, 10},
      {"model/arange", "", {}, 1},
      {"pos/embedding", "pos", {"pos.weight", "model/arange"}, 10},
      {"model/add", "", {"emb/embedding", "pos/embedding"}, 5},
      {"block.fc/mm", "block.fc", {"model/add", "block.fc.weight"}, 100},
      {"block/add", "block", {"model/add", "block.fc/mm"}, 7},
      {"tower.a/relu", "tower.a", {"block/add"}, 20},
      {"tower.b/relu", "tower.b", {"block/add"}, 30},
      {"tower/cat", "tower", {"tower.a/relu", "tower.b/relu"}, 3},
      {"model/mul", "", {"tower/cat", "scale"}, 4},
      {"head/t", "head", {"emb.weight"}, 0},
      {"head/mm", "head", {"model/mul", "head/t"}, 200},
      {"loss/nll", "", {"head/mm"}, 2},
      {"loss/backward/ones", "", {"loss/nll"}, 1, backward},
      {"head/backward/mm", "head", {"loss/backward/ones"}, 300, backward, "head/mm"},
      {"tower/backward/split", "tower", {"head/backward/mm"}, 6, backward, "tower/cat"},
      momentum,
      {"scale/momentum", "", {"scale", "tower/backward/split", "scale.momentum"}, 8, update},
  };
}

}  // namespace emplace::testing
