#include "framework/plan/ranks.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/plan/apply_plan.h"
#include "framework/plan/pipeline_order.h"
#include "tests/framework/plan/sharded_steps.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

Plan RankPlan(const std::string& yaml) {
  return ReadFields<Plan>(ConfigNode::FromString(yaml, "p"));
}

struct Applied {
  RankStep rank;
  PlannedStep step;
  std::vector<DeviceIndex> devices;

  /// @param device_of_op  of the step of rank 0, in each replica
  Applied(std::shared_ptr<const Graph> graph,
          const Cluster& cluster,
          const std::string& plan,
          const std::vector<std::vector<DeviceIndex>>& device_of_op)
      : rank(FirstRank(std::move(graph), std::make_shared<const Cluster>(cluster))),
        step(ApplyPlan(*rank.step,
                       *rank.cluster,
                       RankPlan(plan),
                       Grouping::Identity(rank.step->num_ops()))),
        devices(PlannedPlacement(step, device_of_op)) {}

  const Graph& graph() const { return step.planned.graph; }
  Outcome Simulate(Semantics semantics) const {
    return Simulated(graph(), *step.cluster, devices, semantics);
  }
};

std::vector<DeviceIndex> AllOn(int ops, DeviceIndex device) {
  return std::vector<DeviceIndex>(ops, device);
}

// Two layers, activations of 16 B. An all-reduce of two ranks takes 2 steps of 8 B, 16 ns.
// f0 0-3, all-reduce 3-19, f1 19-22, all-reduce 22-38, b1 38-43, all-reduce of g1 43-59, b0 59-64.
// In queue semantics u1 runs from 43 on and u0 from 64 to 66, in issue order u0 and then u1.
TEST_CASE("two ranks reduce the activations of two layers: hand calculation") {
  const auto graph = Sharded(ChainStep({}), 2, "ag");
  REQUIRE(graph->num_ops() == 8 + 3);
  const Applied applied(graph, EqualGpus(2), "{}", {AllOn(11, 0)});
  CHECK(applied.rank.cluster->num_devices() == 1);
  CHECK(applied.graph().ranks() == 1);
  CHECK(applied.graph().num_ops() == 11 + 3 + 3);
  REQUIRE(applied.step.cluster->num_devices() == 2);
  CHECK(applied.step.cluster->device(1).name == "ranks:0");
  for (const Semantics semantics : {Semantics::kQueue, Semantics::kStream}) {
    const Outcome outcome = applied.Simulate(semantics);
    const auto start = [&](const std::string& op) {
      return outcome.start[applied.graph().FindOp(op)];
    };
    CHECK(start("network/all_reduce a0") == 3);
    CHECK(start("f1") == 19);
    CHECK(start("b1") == 38);
    CHECK(start("network/all_reduce g1") == 43);
    CHECK(start("b0") == 59);
    CHECK(outcome.step_time == (semantics == Semantics::kQueue ? 66 : 68));
    CHECK(outcome.devices[0].busy == 2 * (3 + 5 + 2));
  }
  const Op& transfer = applied.graph().op(applied.graph().FindOp("network/all_reduce a0"));
  CHECK(transfer.kind == "collective.all_reduce");
  CHECK(transfer.attributes == R"({"group_size":2})");
  CHECK(applied.graph().tensor(transfer.inputs[0]).shape == std::vector<std::int64_t>{4});
  CHECK(transfer.cost_ns == std::vector<std::pair<std::string, double>>{{"ranks", 16}});
}

// Weights of 16 B are gathered from parts of 8 B: 1 step of 8 B. f takes 3 ns. The second gather
// follows the first one at 8, while f0 waits until 8 and runs until 11; f1 runs from 16 on.
TEST_CASE("gathers overlap with computation and follow one another") {
  const auto graph =
      Sharded(ChainStep({.weights = 16}), 2, "w", "all_gather", R"({"ranks":[0,1],"ahead":true})");
  const Applied applied(graph, EqualGpus(2), "{}", {AllOn(graph->num_ops(), 0)});
  const auto order = std::vector<int>(applied.graph().topological_order().begin(),
                                      applied.graph().topological_order().end());
  std::vector<int> server;
  for (const PlannedOp& op : applied.step.planned.ops) server.push_back(op.rank_group);
  const Graph ordered = InOrder(applied.graph(), server, order);
  const Outcome outcome =
      Simulated(ordered, *applied.step.cluster, applied.devices, Semantics::kStream);
  CHECK(outcome.start[ordered.FindOp("network/all_gather w0")] == 0);
  CHECK(outcome.start[ordered.FindOp("network/all_gather w1")] == 8);
  CHECK(outcome.start[ordered.FindOp("f0")] == 8);
  CHECK(outcome.start[ordered.FindOp("f1")] == 16);
  const Op& transfer = ordered.op(ordered.FindOp("network/all_gather w1"));
  CHECK(transfer.control_inputs ==
        std::vector<int>{ordered.FindOp("w1"), ordered.FindOp("network/all_gather w0")});
  CHECK(ordered.tensor(transfer.inputs[0]).bytes == 8);
  CHECK(ordered.tensor(transfer.outputs[0]).bytes == 16);
}

// Four GPUs, two ranks: replica r has gpu:0 or gpu:2. Gradients of 8 B: 2 steps of 4 B, 8 ns.
TEST_CASE("replicas of ranks reduce the gradients of equal ranks") {
  const auto graph = Sharded(ChainStep({}), 2, "ag");
  const Applied applied(
      graph, EqualGpus(4), "{replicas: 2, bucket: 8B}", {AllOn(11, 0), AllOn(11, 1)});
  CHECK(applied.rank.cluster->device(1).name == "gpu:2");
  CHECK(applied.rank.cluster->name() == "equal_gpus in blocks of 2");
  const Cluster& cluster = *applied.step.cluster;
  CHECK(cluster.num_devices() == 2 + 1 + 1);
  CHECK(cluster.device(3).name == "ranks:0");
  CHECK(cluster.device(3).slots == 6);
  const Graph& planned = applied.graph();
  const Op& reduction = planned.op(planned.FindOp("all_reduce/0"));
  CHECK(reduction.devices == std::vector<std::string>{"network"});
  CHECK(reduction.cost_ns == std::vector<std::pair<std::string, double>>{{"network", 8}});
  const Outcome outcome = applied.Simulate(Semantics::kQueue);
  CHECK(outcome.start[planned.FindOp("network/r1/all_reduce a1")] == 22);
  CHECK(outcome.start[planned.FindOp("all_reduce/0")] == 43);
  CHECK(outcome.step_time == 64 + 8 + 2);
}

// Stages on gpu:0 and gpu:2: an activation of 16 B takes 16 ns from rank 0 to rank 0. f0 of both
// micro-batches is ready at 0, so the first collective begins at 6 and ends at 22.
TEST_CASE("stages of ranks") {
  const auto graph = Sharded(ChainStep({}), 2, "ag");
  std::vector<DeviceIndex> stages;
  for (const Op& op : graph->ops()) stages.push_back(op.name.find('1') != std::string::npos);
  const Applied applied(graph, EqualGpus(4), "micro_batches: 2", {stages});
  const Graph& planned = applied.graph();
  const Outcome outcome = applied.Simulate(Semantics::kQueue);
  CHECK(outcome.start[planned.FindOp("network/m0/all_reduce a0")] == 6);
  CHECK(outcome.start[planned.FindOp("m0/f1")] == 6 + 16 + 16);
  int count = 0;
  const std::vector<int> numbers(stages.begin(), stages.end());
  const std::vector<int> stage_of_op = StagesOf(*applied.rank.step, numbers, count);
  const std::vector<int> order =
      PipelineOrder(applied.step.planned, stage_of_op, count, Schedule::k1F1B);
  std::vector<int> place(planned.num_ops());
  for (int i = 0; i < planned.num_ops(); ++i) place[order[i]] = i;
  const auto at = [&](const std::string& op) { return place[planned.FindOp(op)]; };
  CHECK(at("m0/all_reduce a1") < at("network/m0/all_reduce a1"));
  CHECK(at("network/m0/all_reduce a1") < at("m0/b1"));
  CHECK(at("m0/b1") < at("network/m1/all_reduce a1"));
}

TEST_CASE("groups of ranks are devices of their own; costs are those of the slowest block") {
  auto graph = Sharded(ChainStep({}), 4, "a", "all_reduce", R"({"ranks":[0,2]})");
  const Applied applied(graph, EqualGpus(8), "{}", {AllOn(graph->num_ops(), 1)});
  CHECK(applied.rank.cluster->device(1).name == "gpu:4");
  const Graph& planned = applied.graph();
  CHECK(planned.op(planned.FindOp("network/all_reduce a0")).cost_ns[0].second == 16);
  CHECK(planned.op(planned.FindOp("all_reduce a0")).cost_ns ==
        std::vector<std::pair<std::string, double>>{{"gpu", 0}});
}

TEST_CASE("views without time do not wait for a collective; the readers of their outputs do") {
  const auto graph = Sharded(ChainStep({}), 2, "a");
  std::vector<Tensor> tensors(graph->tensors().begin(), graph->tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(graph->ops().begin(), graph->ops().end());
  const int collective = graph->FindOp("all_reduce a0"), reader = graph->FindOp("f1");
  const int reduced = ops[collective].outputs[0], view = static_cast<int>(tensors.size());
  tensors.push_back(tensors[reduced]);
  tensors.back().alias_of = reduced;
  ops.push_back({.name = "view", .kind = "aten.view", .inputs = {reduced}, .outputs = {view}});
  ops[reader].inputs[0] = view;
  const auto viewed =
      std::make_shared<const Graph>("chain", tensors, ops, "", "chain", "", graph->ranks());
  const Applied applied(viewed, EqualGpus(2), "{}", {AllOn(viewed->num_ops(), 0)});
  const Graph& planned = applied.graph();
  const auto op = [&](const std::string& name) { return planned.op(planned.FindOp(name)); };
  CHECK(op("view").control_inputs.empty());
  CHECK(op("f1").inputs[0] == op("received/view").outputs[0]);
  CHECK(planned.FindOp("received/view") + 1 == planned.FindOp("f1"));
  CHECK(planned.alias_root(op("f1").inputs[0]) == op("all_reduce a0").outputs[0]);
  CHECK(op("received/view").control_inputs ==
        std::vector<int>{planned.FindOp("network/all_reduce a0")});
  CHECK(op("received/view").colocate == op("view").colocate);
  CHECK(op("network/all_reduce a0").control_inputs ==
        std::vector<int>{planned.FindOp("all_reduce a0")});
}

TEST_CASE("ranks that are not alike are refused with the reason") {
  const auto refusal = [](std::shared_ptr<const Graph> graph, const Cluster& cluster) {
    return MessageOf<InputError>(
        [&] { FirstRank(std::move(graph), std::make_shared<const Cluster>(cluster)); });
  };
  const Graph chain = ChainStep({});
  CHECK(refusal(Sharded(chain, 2, "a"), EqualGpus(3)) ==
        "chain: its 2 ranks do not divide the 3 GPUs of cluster \"equal_gpus\"; choices: 1, 3");
  CHECK(refusal(Sharded(chain, 2, "a", "broadcast"), EqualGpus(2)) ==
        "chain: op \"broadcast a0\": kind: got \"collective.broadcast\"; expected "
        "collective.all_gather, collective.all_reduce, collective.all_to_all, "
        "collective.reduce_scatter in a graph of ranks");
  for (const std::string attributes : {"", "{}", R"({"ranks":[0,2]})", R"({"ranks":[1,1]})"}) {
    CHECK(refusal(Sharded(chain, 2, "a", "all_reduce", attributes), EqualGpus(2)) ==
          "chain: op \"all_reduce a0\": attributes.ranks: expected the ranks of its group, "
          "different numbers from 0 to 1, and an output");
  }
  const Cluster equal = EqualGpus(4);
  std::vector<Device> devices(equal.devices().begin(), equal.devices().end());
  const std::vector<DeviceKind> kinds(equal.kinds().begin(), equal.kinds().end());
  const std::vector<Channel> channels(equal.channels().begin(), equal.channels().end());
  std::vector<std::vector<int>> shared(16, std::vector<int>{0});
  for (int d = 0; d < 4; ++d) shared[d * 5].clear();
  const std::string begin =
      "chain: its 2 ranks, on consecutive GPUs of cluster \"c\", need equal devices, and routes "
      "that no two ranks share: ";
  CHECK(refusal(Sharded(chain, 2, "a"), Cluster("c", kinds, devices, channels, shared)) ==
        begin + "gpu:2->gpu:0 and gpu:1->gpu:3 share channel 0->1");
  devices[3].memory = 7;
  CHECK(refusal(Sharded(chain, 2, "a"), Cluster("c", kinds, devices, channels, shared)) ==
        begin + "gpu:2 and gpu:3 differ");
}

}  // namespace
