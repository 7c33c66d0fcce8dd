#include "framework/plan/replicas.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/plan/recompute.h"
#include "tests/framework/plan/training_steps.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using List = std::vector<std::string>;

// Gradients are made in the order dw2, dw1, dw0, of 8 bytes each.
TEST_CASE("buckets hold consecutive gradients up to their size, of one group") {
  const Graph step = ChainStep({.layers = 3});
  const Grouping all(std::vector<int>(step.num_ops(), 0));
  const auto sizes = [&](const Grouping& together, std::int64_t most) {
    std::vector<std::vector<std::string>> names;
    for (const Bucket& bucket : GradientBuckets(step, together, most)) {
      names.emplace_back();
      std::int64_t bytes = 0;
      for (int tensor : bucket.tensors) {
        names.back().push_back(step.tensor(tensor).name);
        bytes += step.tensor(tensor).bytes;
      }
      CHECK(bucket.bytes == bytes);
      CHECK(bucket.after == step.tensor(bucket.tensors.back()).producer);
    }
    return names;
  };
  CHECK(sizes(all, 100) == std::vector<List>{{"dw2", "dw1", "dw0"}});
  CHECK(sizes(all, 16) == std::vector<List>{{"dw2", "dw1"}, {"dw0"}});
  CHECK(sizes(all, 0) == std::vector<List>{{"dw2"}, {"dw1"}, {"dw0"}});
  CHECK(sizes(Grouping::Identity(step.num_ops()), 100) ==
        std::vector<List>{{"dw2"}, {"dw1"}, {"dw0"}});
}

TEST_CASE("replicas have devices, names and labels of their own, and updates wait for reductions") {
  const Graph step = ChainStep({});
  const Grouping all(std::vector<int>(step.num_ops(), 0));
  const std::vector<Bucket> buckets = GradientBuckets(step, all, 8);
  const std::vector<List> devices = {{"gpu:0"}, {"gpu:1"}};
  const PlannedGraph planned = Replicate(Recompute(step, {}), devices, buckets, {});
  const Graph& graph = planned.graph;
  CHECK(graph.num_ops() == 2 * step.num_ops() + 2);
  const auto op = [&](const std::string& name) -> const Op& {
    REQUIRE(graph.FindOp(name) >= 0);
    return graph.op(graph.FindOp(name));
  };
  CHECK(op("r1/f0").devices == List{"gpu:1"});
  CHECK(op("r1/u0").colocate == "r1/w0");
  CHECK(op("r1/f0").colocate.empty());
  CHECK(op("r1/b1").attributes == R"({"forward_op":"r1/f1","layer":1})");
  const Op& reduce = op("all_reduce/0");
  CHECK(reduce.kind == "collective.all_reduce");
  CHECK(reduce.attributes == R"({"group_size":2})");
  CHECK(reduce.device_kinds == List{"network"});
  CHECK(graph.tensor(reduce.inputs[0]).bytes == 8);
  CHECK(graph.tensor(reduce.inputs[0]).shape == std::vector<std::int64_t>{2});
  CHECK(reduce.control_inputs == std::vector<int>{graph.FindOp("r0/b1"), graph.FindOp("r1/b1")});
  CHECK(graph.FindOp("all_reduce/0") == graph.FindOp("r1/b1") + 1);
  CHECK(op("r0/u1").control_inputs == std::vector<int>{graph.FindOp("all_reduce/0")});
  CHECK(op("r1/u0").control_inputs == std::vector<int>{graph.FindOp("all_reduce/1")});
  CHECK(planned.ops[graph.FindOp("r1/f0")].replica == 1);
  CHECK(planned.ops[graph.FindOp("all_reduce/0")].role == PlannedRole::kCollective);
}

// Five replicas: distance 1 adds 1 to 0 and 3 to 2, distance 2 adds 2 to 0, distance 4 adds 4 to 0.
TEST_CASE("a tree adds the gradients of all replicas, and all updates read the last sum") {
  const Graph step = ChainStep({.layers = 1});
  const std::vector<List> devices = {{"gpu:0"}, {"gpu:1"}, {"gpu:2"}, {"gpu:3"}, {"gpu:4"}};
  const PlannedGraph planned = ReplicateByTree(Recompute(step, {}), devices);
  const Graph& graph = planned.graph;
  CHECK(graph.num_ops() == 5 * step.num_ops() + 4);
  const auto inputs = [&](const std::string& name) {
    REQUIRE(graph.FindOp(name) >= 0);
    List names;
    for (int tensor : graph.op(graph.FindOp(name)).inputs) {
      names.push_back(graph.op(graph.tensor(tensor).producer).name);
    }
    return names;
  };
  CHECK(inputs("r0/reduce/1/b0") == List{"r0/b0", "r1/b0"});
  CHECK(inputs("r2/reduce/1/b0") == List{"r2/b0", "r3/b0"});
  CHECK(inputs("r0/reduce/2/b0") == List{"r0/reduce/1/b0", "r2/reduce/1/b0"});
  CHECK(inputs("r0/reduce/4/b0") == List{"r0/reduce/2/b0", "r4/b0"});
  CHECK(inputs("r3/u0") == List{"r3/w0", "r0/reduce/4/b0"});
  const Op& sum = graph.op(graph.FindOp("r2/reduce/1/b0"));
  CHECK(sum.colocate == "r2/b0");
  CHECK(graph.op(graph.FindOp("r2/b0")).colocate == "r2/b0");
  CHECK(sum.devices == List{"gpu:2"});
  CHECK(graph.op(graph.tensor(graph.alias_root(sum.outputs[0])).producer).name == "r2/b0");
  CHECK(planned.ops[graph.FindOp("r2/reduce/1/b0")].replica == 2);
}

TEST_CASE("one replica only restricts the devices; those of an op must be among them") {
  const Graph step = ChainStep({});
  const std::vector<List> one = {{"gpu:0", "gpu:1"}};
  const Graph graph = Replicate(Recompute(step, {}), one, {}, {}).graph;
  CHECK(graph.num_ops() == step.num_ops());
  for (const Op& op : graph.ops()) CHECK(op.devices == one[0]);
  CHECK(graph.op(graph.FindOp("b1")).attributes == step.op(step.FindOp("b1")).attributes);

  std::vector<Tensor> tensors(step.tensors().begin(), step.tensors().end());
  for (Tensor& tensor : tensors) tensor.producer = -1;
  std::vector<Op> ops(step.ops().begin(), step.ops().end());
  ops[2].devices = {"gpu:?"};
  const PlannedGraph named = Recompute(Graph("named", tensors, ops), {});
  const std::vector<List> two = {{"gpu:0"}, {"gpu:1", "cpu:0"}};
  const Graph apart = Replicate(named, two, {}, {}).graph;
  CHECK(apart.op(apart.FindOp("r1/" + ops[2].name)).devices == List{"gpu:1"});
  const std::vector<List> none = {{"gpu:0"}, {"cpu:0"}};
  CHECK(MessageOf<InputError>([&] { Replicate(named, none, {}, {}); }) ==
        "named: op \"f0\": devices: none of [gpu:?] is among those of a replica: cpu:0");
}

}  // namespace
