#include "framework/plan/micro_batches.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/plan/recompute.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops()) names.push_back(op.name);
  return names;
}

std::vector<std::string> Inputs(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (int tensor : graph.op(graph.FindOp(name)).inputs) {
    const int producer = graph.tensor(tensor).producer;
    names.push_back(producer < 0 ? graph.tensor(tensor).name : graph.op(producer).name);
  }
  return names;
}

using List = std::vector<std::string>;

TEST_CASE("two micro-batches of two layers, op by op") {
  const PlannedGraph planned = CopyMicroBatches(Recompute(ChainStep({}), {}), 2);
  const Graph& graph = planned.graph;
  CHECK(NamesOf(graph) == List{"w0",
                               "w1",
                               "m0/f0",
                               "m0/f1",
                               "m1/f0",
                               "m1/f1",
                               "m0/b1",
                               "m0/b0",
                               "m1/b1",
                               "m1/accumulate/b1",
                               "m1/b0",
                               "m1/accumulate/b0",
                               "u0",
                               "u1"});
  CHECK(Inputs(graph, "m1/f0") == List{"x", "w0"});
  CHECK(Inputs(graph, "m1/b1") == List{"m1/f0", "w1", "m1/f1"});
  CHECK(Inputs(graph, "m1/accumulate/b1") == List{"m0/b1", "m1/b1"});
  CHECK(Inputs(graph, "u1") == List{"w1", "m1/accumulate/b1"});
  // Each micro-batch has its own input.
  CHECK(graph.op(graph.FindOp("m0/f0")).inputs[0] != graph.op(graph.FindOp("m1/f0")).inputs[0]);
  CHECK(graph.op(graph.FindOp("m1/b0")).attributes == R"({"forward_op":"m1/f0","layer":0})");
  // The sum is in place, reads 2 and writes 1 of 8 bytes; all copies and sums stay together.
  const Op& sum = graph.op(graph.FindOp("m1/accumulate/b1"));
  CHECK(sum.kind == "aten.add");
  CHECK(sum.bytes_accessed == 24);
  CHECK(sum.flops == 2);
  CHECK(graph.op(graph.tensor(graph.alias_root(sum.outputs[0])).producer).name == "m0/b1");
  for (const std::string name : {"m0/b1", "m1/b1", "m1/accumulate/b1"}) {
    CHECK(graph.op(graph.FindOp(name)).colocate == "b1");
  }
  CHECK(graph.op(graph.FindOp("u1")).colocate == "w1");
  // Origins.
  const PlannedOp& origin = planned.ops[graph.FindOp("m1/accumulate/b1")];
  CHECK(origin.role == PlannedRole::kAccumulate);
  CHECK(origin.op == ChainStep({}).FindOp("b1"));
  CHECK(origin.micro_batch == 1);
  CHECK(planned.ops[graph.FindOp("u0")].micro_batch == -1);
}

// One device: M (f + b) of 2 layers, M - 1 sums of 2 gradients at 1 ns, 2 updates.
TEST_CASE("on one device a step takes the sum of its parts") {
  for (int count : {1, 2, 5}) {
    PlannedGraph planned = CopyMicroBatches(Recompute(ChainStep({}), {}), count);
    const Cluster cluster = EqualGpus(1);
    const std::vector<DeviceIndex> devices(planned.graph.num_ops(), 0);
    // 24 bytes at 1e18 B/s round to 0 ns.
    CHECK(Simulated(planned.graph, cluster, devices, Semantics::kStream).step_time ==
          count * 2 * (3 + 5) + 2 * 2);
  }
}

TEST_CASE("one micro-batch changes nothing") {
  const Graph step = ChainStep({});
  const PlannedGraph planned = CopyMicroBatches(Recompute(step, {}), 1);
  CHECK(NamesOf(planned.graph) == NamesOf(step));
}

TEST_CASE("a forward pass that needs the update is refused") {
  const Graph step = ChainStep({});
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  ops.push_back({.name = "late", .kind = "k", .inputs = {ops.back().outputs[0]}});
  const Graph bad("bad", tensors, ops);
  CHECK(MessageOf<InputError>([&] { CopyMicroBatches(Recompute(bad, {}), 2); }) ==
        "bad: op \"late\" of phase forward depends on op \"u1\" of phase update; micro-batches "
        "need the forward pass before the backward pass, and both before the update");
  CHECK(MessageOf<InputError>([&] { CopyMicroBatches(Recompute(step, {}), 0); }) ==
        "expected at least 1 micro-batch, got 0");
}

}  // namespace
