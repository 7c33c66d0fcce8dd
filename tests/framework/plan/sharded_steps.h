#pragma once

// Small steps of several ranks, for the tests of plans.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace::testing {

/// The chain on rank 0 of `ranks`, with a collective of tensors whose names begin with `of`: "aN"
/// is read as the output of op "NAME aN".
inline std::shared_ptr<const Graph> Sharded(const Graph& chain,
                                            int ranks,
                                            const std::string& of,
                                            const std::string& name = "all_reduce",
                                            const std::string& attributes = R"({"ranks":[0,1]})") {
  std::vector<Tensor> tensors(chain.tensors().begin(), chain.tensors().end());
  std::vector<Op> ops;
  std::vector<int> reduced(tensors.size(), -1);
  for (Tensor& tensor : tensors) tensor.producer = -1;
  for (const Op& op : chain.ops()) {
    ops.push_back(op);
    for (int& input : ops.back().inputs) input = reduced[input] < 0 ? input : reduced[input];
    for (int output : op.outputs) {
      const Tensor tensor = tensors[output];
      if (of.find(tensor.name[0]) == std::string::npos || tensor.name[0] == 'd') continue;
      reduced[output] = static_cast<int>(tensors.size());
      Op collective{.name = name + " " + tensor.name, .kind = "collective." + name};
      collective.inputs = {output};
      collective.outputs = {reduced[output]};
      collective.phase = op.phase;
      collective.device_kinds = {"network"};
      collective.attributes = attributes;
      tensors.push_back(tensor);
      if (tensor.role == TensorRole::kParameter) tensors.back().role = TensorRole::kActivation;
      ops.push_back(std::move(collective));
    }
  }
  return std::make_shared<const Graph>("chain", tensors, ops, "", "chain", "", ranks);
}

}  // namespace emplace::testing
