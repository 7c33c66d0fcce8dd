#include "framework/plan/recompute.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<std::string> Predecessors(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (int op : graph.predecessors(graph.FindOp(name))) names.push_back(graph.op(op).name);
  return names;
}

using List = std::vector<std::string>;

// The layer {f1, f2} of f0 .. f3: a1 is inner (f2 and b2 read it), a2 is kept, since f3 reads it.
TEST_CASE("inner activations of a layer are computed again when its gradient is there") {
  const Graph step = ChainStep({.layers = 4});
  const std::vector<std::string> layers = {"f[x", "f?"};
  CHECK(MessageOf<InputError>([&] { Recompute(step, std::vector<std::string>{"f[x"}); }) ==
        "chain: recompute: pattern \"f[x\" matches no forward op");
  CHECK(MessageOf<InputError>([&] { Recompute(step, std::vector<std::string>{"b*"}); }) ==
        "chain: recompute: pattern \"b*\" matches no forward op");

  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  for (Op& op : ops) {
    if (op.name == "f1" || op.name == "f2") op.name = "layer/" + op.name;
  }
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  const Graph named("named", tensors, ops);
  const PlannedGraph planned = Recompute(named, std::vector<std::string>{"layer/*"});
  const Graph& graph = planned.graph;
  CHECK(graph.num_ops() == step.num_ops() + 1);
  // b2 is the first to read a1; the gradient that it waits for is that of b3.
  CHECK(Predecessors(graph, "recompute/layer/f1") == List{"w1", "f0", "b3"});
  CHECK(Predecessors(graph, "b2") == List{"w2", "b3", "recompute/layer/f1"});
  CHECK(Predecessors(graph, "layer/f2") == List{"w2", "layer/f1"});
  CHECK(Predecessors(graph, "b1") == List{"w1", "f0", "b2"});
  CHECK(graph.FindOp("recompute/layer/f1") == graph.FindOp("b2") - 1);
  const PlannedOp& origin = planned.ops[graph.FindOp("recompute/layer/f1")];
  CHECK(origin.role == PlannedRole::kRecompute);
  CHECK(origin.op == named.FindOp("layer/f1"));
  CHECK(graph.op(graph.FindOp("recompute/layer/f1")).phase == Phase::kBackward);

  // One device: one more forward op. Weights and x take 4 x 8 + 16 B. Before, b3 runs beside a0 to
  // a3, and makes g3 and dw3: 64 + 24 B. After, b3 runs without a1, and b2 beside a0, a1, g3 and
  // dw3, and makes g2 and dw2: 32 + 24 + 24 B.
  const Cluster cluster = EqualGpus(1);
  const auto simulate = [&](const Graph& each) {
    return Simulated(
        each, cluster, std::vector<DeviceIndex>(each.num_ops(), 0), Semantics::kStream);
  };
  const Outcome before = simulate(named), after = simulate(graph);
  CHECK(after.step_time == before.step_time + 3);
  CHECK(before.devices[0].peak == 48 + 64 + 24);
  CHECK(after.devices[0].peak == 48 + 32 + 24 + 24);
}

// One layer is everything: a0 .. a2 are inner. a3 is, too: b3 reads it as the loss's gradient.
TEST_CASE("a layer that is the whole forward pass is computed twice") {
  const Graph step = ChainStep({.layers = 3});
  const Graph graph = Recompute(step, std::vector<std::string>{"f*"}).graph;
  CHECK(graph.num_ops() == step.num_ops() + 3);
  CHECK(Predecessors(graph, "recompute/f2") == List{"w2", "recompute/f1"});
  CHECK(Predecessors(graph, "recompute/f0") == List{"w0"});
}

TEST_CASE("no layer, no change; an op belongs to the first pattern") {
  const Graph step = ChainStep({.layers = 3});
  CHECK(Recompute(step, {}).graph.num_ops() == step.num_ops());
  // f1 is alone in the second layer, so f2 of the third reads its activation: nothing is inner.
  const std::vector<std::string> layers = {"f0", "f1", "f*"};
  const Graph graph = Recompute(step, layers).graph;
  CHECK(graph.num_ops() == step.num_ops() + 1);
  CHECK(graph.FindOp("recompute/f2") >= 0);  // b2 alone reads a2
}

TEST_CASE("ops that write what is kept are not repeated") {
  Graph step = ChainStep({.layers = 2});
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  Tensor statistics{.name = "mean", .shape = {2}, .dtype = "f32", .bytes = 8};
  statistics.role = TensorRole::kBuffer;
  for (Op& op : ops) {
    if (op.name != "f0") continue;
    op.outputs.push_back(static_cast<int>(tensors.size()));
    tensors.push_back(statistics);
  }
  step = Graph("statistics", tensors, ops);
  const Graph graph = Recompute(step, std::vector<std::string>{"f*"}).graph;
  CHECK(graph.FindOp("recompute/f0") < 0);
  CHECK(graph.FindOp("recompute/f1") >= 0);
}

}  // namespace
