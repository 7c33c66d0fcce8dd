#pragma once

// Random graphs with everything a graph file may hold.

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"
#include "framework/graph/graph.h"
#include "framework/graph/grouping.h"

namespace emplace::testing {

struct RandomGraphOptions {
  bool connected = false;  ///< every op but the first reads a tensor of an earlier one
  bool plain = false;      ///< no aliases, labels, device kinds, devices
};

inline std::string RandomText(Rng& rng) {
  const std::vector<std::string> parts = {
      "conv", "block_1", "/", ".", " ", "\"", "\\", "\n", "\t", "\xc3\xa9", "{", "}", ":0", "\x01"};
  std::string text = "t";
  for (int i = UniformInt(rng, 6); i > 0; --i) {
    text += parts[UniformInt(rng, static_cast<int>(parts.size()))];
  }
  return text;
}

/// Op ids are shuffled against the topological order.
inline Graph RandomGraph(Rng& rng, int num_ops, const RandomGraphOptions& options = {}) {
  const auto chance = [&](int one_in) { return UniformInt(rng, one_in) == 0; };
  std::vector<int> order(num_ops);  // order[i]: the i-th op topologically
  std::iota(order.begin(), order.end(), 0);
  for (int i = num_ops - 1; i > 0; --i) std::swap(order[i], order[UniformInt(rng, i + 1)]);

  std::vector<Tensor> tensors;
  std::vector<Op> ops(num_ops);
  std::vector<int> readable;  // tensors made so far
  const auto add_tensor = [&](TensorRole role) {
    Tensor tensor;
    if (!chance(4)) tensor.name = RandomText(rng);
    if (!chance(4)) tensor.shape = {UniformInt(rng, 5), 1 + UniformInt(rng, 100)};
    if (!chance(4)) tensor.dtype = "f32";
    tensor.bytes = chance(5) ? 0 : UniformInt(rng, 1000);
    tensor.role = role;
    if (chance(8)) tensor.extra = "{\"color\":\"red\",\"n\":[1,2.5]}";
    if (!options.plain && chance(8) && !tensors.empty()) {
      tensor.alias_of = UniformInt(rng, static_cast<int>(tensors.size()));
    }
    tensors.push_back(tensor);
    return static_cast<int>(tensors.size()) - 1;
  };
  if (!options.connected) readable.push_back(add_tensor(TensorRole::kInput));
  for (int i = 0; i < num_ops; ++i) {
    Op& op = ops[order[i]];
    op.name = RandomText(rng) + "_" + std::to_string(order[i]);
    const bool storage = !options.connected && chance(6);
    op.kind = storage ? (chance(2) ? "parameter" : "constant") : RandomText(rng);
    if (!storage) {
      const int at_least = options.connected && i > 0;
      for (int k = at_least + UniformInt(rng, 3); k > 0 && !readable.empty(); --k) {
        op.inputs.push_back(readable[UniformInt(rng, static_cast<int>(readable.size()))]);
      }
      if (i > 0 && chance(4)) op.control_inputs.push_back(order[UniformInt(rng, i)]);
      if (!chance(4)) op.flops = Uniform01(rng) * 1e9;
      if (chance(3)) op.bytes_accessed = UniformInt(rng, 10000);
      if (chance(5)) op.workspace_bytes = UniformInt(rng, 10000);
      if (chance(3)) op.phase = chance(2) ? Phase::kBackward : Phase::kUpdate;
      if (chance(3)) op.cost_ns = {{"k80", Uniform01(rng) * 1e6}, {"p 100", UniformInt(rng, 1000)}};
    }
    if (!options.plain && chance(5)) op.colocate = "label" + std::to_string(UniformInt(rng, 4));
    if (!options.plain && chance(5)) op.device_kinds = {"gpu", "haswell"};
    if (!options.plain && chance(5)) op.devices = {"gpu:?", "cpu:*", RandomText(rng)};
    if (chance(4)) op.attributes = "{\"stride\":[2,2],\"pad\":{\"mode\":\"same\",\"value\":-0.5}}";
    if (chance(8)) op.extra = "{\"stream\":3}";
    for (int k = options.connected ? 1 : (chance(6) ? 0 : 1 + chance(3)); k > 0; --k) {
      op.outputs.push_back(add_tensor(storage ? TensorRole::kParameter
                                              : static_cast<TensorRole>(3 + UniformInt(rng, 4))));
    }
    readable.insert(readable.end(), op.outputs.begin(), op.outputs.end());
  }
  return Graph(
      RandomText(rng), std::move(tensors), std::move(ops), chance(2) ? "{\"batch\":32}" : "");
}

/// "ab c" for groups {a, b} and {c}.
inline std::string Groups(const Graph& graph, const Grouping& grouping) {
  std::string text;
  for (int g = 0; g < grouping.num_groups(); ++g) {
    if (g > 0) text += ' ';
    for (int v : grouping.members(g)) text += graph.op(v).name;
  }
  return text;
}

inline Grouping Identity(const Graph& graph) {
  return Grouping::Identity(graph.num_ops());
}

}  // namespace emplace::testing
