#include "framework/plan/sharded_update.h"

#include <doctest/doctest.h>

#include "framework/config/setting_error.h"
#include "framework/plan/apply_plan.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// The chain with an optimizer state for each layer.
Graph ChainWithStates(int layers) {
  const Graph step = ChainStep({.layers = layers});
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  for (int l = 0; l < layers; ++l) {
    Op state = ops[step.FindOp(fmt::format("w{}", l))];
    state.name = fmt::format("s{}", l);
    state.outputs = {static_cast<int>(tensors.size())};
    tensors.push_back({.name = state.name, .shape = {4}, .dtype = "f32", .bytes = 16});
    tensors.back().role = TensorRole::kOptimizerState;
    ops[step.FindOp(fmt::format("u{}", l))].inputs.push_back(state.outputs[0]);
    ops.push_back(std::move(state));
  }
  return Graph("chain", std::move(tensors), std::move(ops));
}

PlannedStep Apply(const Graph& step, const std::string& yaml) {
  const Plan plan = ReadFields<Plan>(ConfigNode::FromString(yaml, "p"));
  return ApplyPlan(step, EqualGpus(2), plan, Grouping::Identity(step.num_ops()));
}

// Buckets 0 (dw1) and 1 (dw0): u1 and s1 are of replica 0, u0 and s0 of replica 1.
TEST_CASE("updates and states are divided among the replicas by buckets") {
  const Graph step = ChainWithStates(2);
  const PlannedStep planned = Apply(step, "{replicas: 2, bucket: 8B, states: zero1}");
  const Graph& graph = planned.planned.graph;
  for (const std::string name : {"r0/u1", "r0/s1", "r1/u0", "r1/s0", "r0/w0", "r1/w1"}) {
    CHECK_MESSAGE(graph.FindOp(name) >= 0, name);
  }
  for (const std::string name : {"r1/u1", "r1/s1", "r0/u0", "r0/s0", "all_reduce/0"}) {
    CHECK_MESSAGE(graph.FindOp(name) < 0, name);
  }
  // Of 2 x (2 w, 2 s, 2 f, 2 b, 2 u) and 2 reductions 4 went, 2 came.
  CHECK(graph.num_ops() == 2 * 10 + 2 - 4 + 2);
  const Op& scatter = graph.op(graph.FindOp("reduce_scatter/0"));
  CHECK(scatter.kind == "collective.reduce_scatter");
  CHECK(graph.tensor(scatter.inputs[0]).bytes == 8);
  CHECK(graph.tensor(scatter.outputs[0]).bytes == 4);
  const Op& gather = graph.op(graph.FindOp("all_gather/0"));
  CHECK(gather.kind == "collective.all_gather");
  CHECK(graph.tensor(gather.inputs[0]).shape == std::vector<std::int64_t>{1});
  CHECK(graph.tensor(gather.outputs[0]).shape == std::vector<std::int64_t>{2});
  CHECK(gather.control_inputs == std::vector<int>{graph.FindOp("r0/u1")});

  // Backward ends at 11 (b1) and 16 (b0). A ring of 8 bytes: one step of 4 ns for each half.
  // reduce_scatter/0 11 to 15, then u1 waits for the device: 16 to 18. reduce_scatter/1 16 to 20,
  // u0 on the other device 20 to 22. all_gather/0 20 to 24 on the one slot, all_gather/1 24 to 28.
  const std::vector<std::vector<DeviceIndex>> replicas = {
      std::vector<DeviceIndex>(step.num_ops(), 0), std::vector<DeviceIndex>(step.num_ops(), 1)};
  const Outcome outcome =
      Simulated(graph, *planned.cluster, PlannedPlacement(planned, replicas), Semantics::kQueue);
  CHECK(outcome.start[graph.FindOp("r0/u1")] == 16);
  CHECK(outcome.start[graph.FindOp("r1/u0")] == 20);
  CHECK(outcome.start[graph.FindOp("all_gather/0")] == 20);
  CHECK(outcome.step_time == 28);

  // Memory: each device has one state of two less.
  const PlannedStep whole = Apply(step, "{replicas: 2, bucket: 8B}");
  const Outcome before = Simulated(
      whole.planned.graph, *whole.cluster, PlannedPlacement(whole, replicas), Semantics::kQueue);
  for (int d = 0; d < 2; ++d) CHECK(before.devices[d].peak - outcome.devices[d].peak == 16);
}

TEST_CASE("updates that make new tensors instead of writing parameters are awaited, too") {
  const Graph chain = ChainWithStates(2);
  std::vector<Tensor> tensors(chain.tensors().begin(), chain.tensors().end());
  for (Tensor& tensor : tensors) {
    tensor.producer = -1;
    tensor.alias_of = -1;
  }
  const Graph step(
      "chain", std::move(tensors), std::vector<Op>(chain.ops().begin(), chain.ops().end()));
  const PlannedStep planned = Apply(step, "{replicas: 2, bucket: 8B, states: zero1}");
  const Graph& graph = planned.planned.graph;
  CHECK(graph.op(graph.FindOp("all_gather/0")).control_inputs ==
        std::vector<int>{graph.FindOp("r0/u1")});
}

TEST_CASE("buckets keep their numbers where ops are not in topological order") {
  const Graph chain = ChainWithStates(2);  // its ops in the opposite order
  std::vector<Tensor> tensors(chain.tensors().begin(), chain.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(chain.ops().rbegin(), chain.ops().rend());
  for (Op& op : ops) {
    for (int& before : op.control_inputs) before = chain.num_ops() - 1 - before;
  }
  const Graph step("chain", std::move(tensors), std::move(ops));
  const std::string plan = "{replicas: 2, bucket: 8B, states: ";
  const PlannedStep whole = Apply(step, plan + "replicated}");
  const PlannedStep divided = Apply(step, plan + "zero1}");
  for (const int bucket : {0, 1}) {
    const auto awaited = [&](const PlannedStep& planned, const std::string& name) {
      const Graph& graph = planned.planned.graph;
      const int op = graph.FindOp(fmt::format("{}/{}", name, bucket));
      REQUIRE(op >= 0);
      std::vector<std::string> names;
      for (const int before : graph.predecessors(op)) names.push_back(graph.op(before).name);
      return names;
    };
    CHECK(awaited(whole, "all_reduce") == awaited(divided, "reduce_scatter"));
  }
}

TEST_CASE("buckets whose updates need gradients of other replicas stay as they are") {
  const Graph step = ChainWithStates(2);
  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  // The norm of all gradients, which both updates read.
  Op norm = ops[step.FindOp("u0")];
  norm.name = "norm";
  norm.colocate.clear();
  norm.inputs = {ops[step.FindOp("u0")].inputs[1], ops[step.FindOp("u1")].inputs[1]};
  norm.outputs = {static_cast<int>(tensors.size())};
  tensors.push_back({.name = "norm", .bytes = 4});
  for (const std::string name : {"u0", "u1"})
    ops[step.FindOp(name)].inputs.push_back(norm.outputs[0]);
  ops.push_back(norm);
  const Graph clipped("clipped", tensors, ops);
  const PlannedStep planned = Apply(clipped, "{replicas: 2, bucket: 8B, states: zero1}");
  const PlannedStep whole = Apply(clipped, "{replicas: 2, bucket: 8B}");
  CHECK(planned.planned.graph.num_ops() == whole.planned.graph.num_ops());
  CHECK(planned.planned.graph.FindOp("all_reduce/1") >= 0);
}

TEST_CASE("states that cannot be divided are refused") {
  const Graph step = ChainWithStates(2);
  CHECK(MessageOf<SettingError>([&] {
          Apply(step, "{replicas: 2, states: zero9}");
        }).find("states: ") == 0);
  CHECK(MessageOf<SettingError>([&] {
          Apply(step, "{replicas: 2, states: zero1, collectives: tree}");
        }) == "states: zero1 needs collectives: network");
}

}  // namespace
