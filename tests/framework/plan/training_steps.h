#pragma once

// Small training steps, and machines, for the tests of plans.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "framework/cluster/cluster.h"
#include "framework/cost/cost_model.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace::testing {

/// Sizes and times of a chain of layers.
struct ChainSizes {
  int layers = 2;
  double forward = 3, backward = 5, update = 2, sum = 1;  ///< [ns]
  std::int64_t weights = 8, activation = 16;              ///< [B] of a layer
};

/// A chain of layers l = 0, 1, ... Tensors: x (input), wl, al, gl (gradient of a(l-1)), dwl.
///
///   wl        makes wl
///   fl        reads a(l-1) or x, and wl; makes al
///   bl        reads a(l-1) or x, wl and g(l+1), the last layer's its al; makes dwl, and gl if l >
///   0 ul        reads wl and dwl; makes an alias of wl; has the label wl, as wl has
///
/// Ids are in this order of kinds. Costs are given for kind "gpu".
inline Graph ChainStep(const ChainSizes& sizes) {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  const auto tensor = [&](const std::string& name, std::int64_t bytes, TensorRole role) {
    tensors.push_back({.name = name, .shape = {bytes / 4}, .dtype = "f32", .bytes = bytes});
    tensors.back().role = role;
    return static_cast<int>(tensors.size()) - 1;
  };
  const auto op = [&](const std::string& name, Phase phase, double cost, std::vector<int> inputs) {
    ops.push_back({.name = name, .kind = "test." + name.substr(0, 1), .inputs = std::move(inputs)});
    ops.back().phase = phase;
    ops.back().cost_ns = {{"gpu", cost}};
    return static_cast<int>(ops.size()) - 1;
  };
  const int n = sizes.layers;
  std::vector<int> weights, activations{tensor("x", sizes.activation, TensorRole::kInput)};
  for (int l = 0; l < n; ++l) {
    const int id = op(fmt::format("w{}", l), Phase::kForward, 0, {});
    ops[id].kind = "parameter";
    ops[id].colocate = ops[id].name;
    weights.push_back(tensor(ops[id].name, sizes.weights, TensorRole::kParameter));
    ops[id].outputs = {weights.back()};
  }
  for (int l = 0; l < n; ++l) {
    const int id =
        op(fmt::format("f{}", l), Phase::kForward, sizes.forward, {activations.back(), weights[l]});
    activations.push_back(tensor(fmt::format("a{}", l), sizes.activation, TensorRole::kActivation));
    ops[id].outputs = {activations.back()};
  }
  std::vector<int> gradients(n);
  int arriving = activations.back();
  for (int l = n - 1; l >= 0; --l) {
    const int id = op(fmt::format("b{}", l),
                      Phase::kBackward,
                      sizes.backward,
                      {activations[l], weights[l], arriving});
    ops[id].attributes = fmt::format(R"({{"forward_op":"f{}","layer":{}}})", l, l);
    gradients[l] = tensor(fmt::format("dw{}", l), sizes.weights, TensorRole::kGradient);
    ops[id].outputs = {gradients[l]};
    if (l > 0) {
      arriving = tensor(fmt::format("g{}", l), sizes.activation, TensorRole::kGradient);
      ops[id].outputs.push_back(arriving);
    }
  }
  for (int l = 0; l < n; ++l) {
    const int id =
        op(fmt::format("u{}", l), Phase::kUpdate, sizes.update, {weights[l], gradients[l]});
    ops[id].colocate = fmt::format("w{}", l);
    ops[id].outputs = {tensor(fmt::format("v{}", l), sizes.weights, TensorRole::kParameter)};
    tensors[ops[id].outputs[0]].alias_of = weights[l];
  }
  return Graph("chain", std::move(tensors), std::move(ops));
}

/// GPUs "gpu:0", "gpu:1", ... of one kind "gpu", a private channel for each ordered pair.
inline Cluster EqualGpus(int count, Nanos latency = 0, Bandwidth bandwidth = {1'000'000'000, 1}) {
  DeviceKind kind;
  kind.name = "gpu";
  kind.peak = {{"f32", 1e18}};
  kind.memory_bandwidth = 1e18;
  std::vector<Device> devices;
  std::vector<Channel> channels;
  std::vector<std::vector<int>> routes(count * count);
  for (int d = 0; d < count; ++d) devices.push_back({.name = fmt::format("gpu:{}", d)});
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      routes[from * count + to] = {static_cast<int>(channels.size())};
      channels.push_back(
          {.name = fmt::format("{}->{}", from, to), .latency = latency, .bandwidth = bandwidth});
    }
  }
  return Cluster("equal_gpus", {kind}, devices, channels, routes);
}

/// GPUs in nodes: within a node a channel for each pair, latency 1 ns, 4 B/ns; between nodes 10 ns
/// and 1 B/ns. @param shared  each node has one channel for all that it sends to others
inline Cluster GpusInNodes(const std::vector<int>& node_of_gpu, bool shared) {
  const int count = static_cast<int>(node_of_gpu.size());
  const Cluster equal = EqualGpus(count);
  std::vector<Channel> channels;
  for (int node = 0; node < count; ++node) {
    channels.push_back(
        {.name = fmt::format("out{}", node), .latency = 10, .bandwidth = {1'000'000'000, 1}});
  }
  std::vector<std::vector<int>> routes(count * count);
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      const bool near = node_of_gpu[from] == node_of_gpu[to];
      if (!near && shared) {
        routes[from * count + to] = {node_of_gpu[from]};
        continue;
      }
      routes[from * count + to] = {static_cast<int>(channels.size())};
      channels.push_back(
          {.name = fmt::format("{}->{}", from, to),
           .latency = near ? 1 : 10,
           .bandwidth = near ? Bandwidth{4'000'000'000, 1} : Bandwidth{1'000'000'000, 1}});
    }
  }
  return Cluster("nodes",
                 {equal.kinds().begin(), equal.kinds().end()},
                 {equal.devices().begin(), equal.devices().end()},
                 channels,
                 routes);
}

/// Simulates a placement of all ops, in an issue order if there is one.
inline Outcome Simulated(const Graph& graph,
                         const Cluster& cluster,
                         const std::vector<DeviceIndex>& device_of_op,
                         Semantics semantics,
                         const std::vector<int>& order = {}) {
  auto costs = ComputeCosts(graph, cluster);
  const auto problem = std::make_shared<Problem>(std::make_shared<Graph>(graph),
                                                 Grouping::Identity(graph.num_ops()),
                                                 std::make_shared<Cluster>(cluster),
                                                 std::move(costs));
  SimulatorOptions options{.semantics = semantics};
  options.issue_order = order;
  return MakeSimulator(problem, options)->Evaluate({device_of_op}, {.op_times = true});
}

}  // namespace emplace::testing
