#include "framework/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/graph/grouping.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::RandomGraph;
using Ids = std::vector<int>;

Ids List(std::span<const int> ids) {
  return {ids.begin(), ids.end()};
}

// x ->  a(0) -> b(1) -> d(3); a -> c(2) -> d; tensors 0: x, then one per op. d waits for a by
// control.
struct EditableDiamond {
  std::vector<Tensor> tensors{5};
  std::vector<Op> ops{4};

  EditableDiamond() {
    const char* names[] = {"a", "b", "c", "d"};
    const std::vector<Ids> inputs = {{0}, {1}, {1, 1}, {3, 2}};
    for (int v = 0; v < 4; ++v) {
      ops[v].name = names[v];
      ops[v].kind = "Add";
      ops[v].inputs = inputs[v];
      ops[v].outputs = {v + 1};
    }
    ops[3].control_inputs = {0, 0};
    for (int t = 0; t < 5; ++t) {
      tensors[t].name = "t" + std::to_string(t);
      tensors[t].bytes = 10 * (t + 1);
    }
  }
  Graph Build() const { return Graph("diamond", tensors, ops, "", "g.json"); }
  std::string Message() const {
    return MessageOf<InputError>([&] { Build(); });
  }
};

TEST_CASE("producers, readers, dependencies and order follow from inputs and outputs") {
  const Graph graph = EditableDiamond().Build();
  CHECK(graph.num_ops() == 4);
  CHECK(graph.num_tensors() == 5);
  CHECK(graph.tensor(0).producer == -1);
  CHECK(graph.tensor(4).producer == 3);
  CHECK(List(graph.readers(1)) == Ids{1, 2});
  CHECK(List(graph.readers(4)) == Ids{});
  CHECK(List(graph.reads(2)) == Ids{1});
  CHECK(List(graph.reads(3)) == Ids{2, 3});
  CHECK(List(graph.control_readers(0)) == Ids{3});
  CHECK(List(graph.predecessors(3)) == Ids{0, 1, 2});
  CHECK(List(graph.successors(0)) == Ids{1, 2, 3});
  CHECK(List(graph.topological_order()) == Ids{0, 1, 2, 3});
  // Inputs as listed plus outputs: c reads t1 (20 B) twice and makes t3 (40 B).
  CHECK(graph.op(2).bytes_accessed == 20 + 20 + 40);
  CHECK(graph.FindOp("c") == 2);
  CHECK(graph.FindOp("C") == -1);
  CHECK(graph.FindOp("") == -1);
}

TEST_CASE("a given figure of bytes accessed is kept, 0 included") {
  EditableDiamond diamond;
  diamond.ops[0].bytes_accessed = 0;
  diamond.ops[1].bytes_accessed = 7;
  CHECK(diamond.Build().op(0).bytes_accessed == 0);
  CHECK(diamond.Build().op(1).bytes_accessed == 7);
}

TEST_CASE("the topological order takes the least id among the available") {
  // 3 -> 0, 2 -> 1: after 2 both 1 and 3 are available.
  std::vector<Tensor> tensors(4);
  std::vector<Op> ops(4);
  for (int v = 0; v < 4; ++v) {
    ops[v].name = std::string(1, static_cast<char>('a' + v));
    ops[v].outputs = {v};
  }
  ops[0].inputs = {3};
  ops[1].inputs = {2};
  CHECK(List(Graph("g", tensors, ops).topological_order()) == Ids{2, 1, 3, 0});
}

TEST_CASE("an empty graph is a graph") {
  const Graph graph("empty", {}, {});
  CHECK(graph.num_ops() == 0);
  CHECK(graph.topological_order().empty());
  CHECK(graph.FindOp("a") == -1);
}

TEST_CASE("aliases lead to the tensor that owns the memory") {
  EditableDiamond diamond;
  diamond.tensors[4].alias_of = 2;
  diamond.tensors[2].alias_of = 1;
  const Graph graph = diamond.Build();
  CHECK(graph.alias_root(4) == 1);
  CHECK(graph.alias_root(2) == 1);
  CHECK(graph.alias_root(1) == 1);
  CHECK(graph.alias_root(3) == 3);
}

TEST_CASE("ids that dangle are refused with op, field and the range") {
  for (int bad : {-1, 5, 1000}) {
    EditableDiamond diamond;
    diamond.ops[1].inputs = {1, bad};
    CHECK(diamond.Message() ==
          "g.json: ops[1] \"b\": inputs: dangling id " + std::to_string(bad) + "; ids are 0 .. 4");
  }
  EditableDiamond diamond;
  diamond.ops[1].outputs = {5};
  CHECK(diamond.Message() == "g.json: ops[1] \"b\": outputs: dangling id 5; ids are 0 .. 4");
  diamond = EditableDiamond();
  diamond.ops[2].control_inputs = {4};
  CHECK(diamond.Message() == "g.json: ops[2] \"c\": control_inputs: dangling id 4; ids are 0 .. 3");
  diamond = EditableDiamond();
  diamond.tensors[2].alias_of = 5;
  CHECK(diamond.Message() ==
        "g.json: tensors[2] \"t2\": alias_of: tensor 5 does not exist; ids are 0 .. 4");
  diamond.tensors[2].alias_of = -2;
  CHECK(diamond.Message() ==
        "g.json: tensors[2] \"t2\": alias_of: tensor -2 does not exist; ids are 0 .. 4");
}

TEST_CASE("a tensor has at most one producer") {
  EditableDiamond diamond;
  diamond.ops[2].outputs = {3, 1};
  CHECK(diamond.Message() ==
        "g.json: tensors[1] \"t1\": two producers: ops[0] \"a\" and ops[2] \"c\"; expected at most "
        "one");
  diamond = EditableDiamond();
  diamond.ops[2].outputs = {3, 3};
  CHECK(diamond.Message() == "g.json: tensors[3] \"t3\": is listed twice in outputs of op \"c\"");
}

TEST_CASE("op names are there and unique") {
  EditableDiamond diamond;
  diamond.ops[2].name = "a";
  CHECK(diamond.Message() == "g.json: ops[2] \"a\": name: duplicate of ops[0]");
  diamond.ops[2].name = "";
  CHECK(diamond.Message() == "g.json: ops[2] \"\": name: is empty; expected a unique name");
}

TEST_CASE("negative and non-finite numbers are refused by field") {
  EditableDiamond diamond;
  diamond.tensors[3].bytes = -1;
  CHECK(diamond.Message() == "g.json: tensors[3] \"t3\": bytes: -1 is negative; expected >= 0 [B]");

  const auto message = [](auto set) {
    EditableDiamond broken;
    set(broken.ops[1]);
    return broken.Message();
  };
  const std::string place = "g.json: ops[1] \"b\": ";
  const std::string rule = " is not a finite number >= 0";
  CHECK(message([](Op& op) { op.flops = -2.5; }) == place + "flops: -2.5" + rule);
  CHECK(message([](Op& op) { op.flops = std::nan(""); }) == place + "flops: nan" + rule);
  CHECK(message([](Op& op) { op.flops = INFINITY; }) == place + "flops: inf" + rule);
  CHECK(message([](Op& op) { op.bytes_accessed = -2; }) == place + "bytes_accessed: -2" + rule);
  CHECK(message([](Op& op) { op.workspace_bytes = -1; }) == place + "workspace_bytes: -1" + rule);
  CHECK(message([](Op& op) {
          op.cost_ns = {{"k80", 1}, {"p100", -1}};
        }) == place + "cost_ns.p100: -1" + rule);
  CHECK(message([](Op& op) {
          op.cost_ns = {{"k80", std::nan("")}};
        }) == place + "cost_ns.k80: nan" + rule);
}

TEST_CASE("aliases must not go round") {
  EditableDiamond diamond;
  diamond.tensors[2].alias_of = 2;
  CHECK(diamond.Message() == "g.json: tensors[2] \"t2\": alias_of: the aliases make a cycle");
  diamond.tensors[2].alias_of = 3;
  diamond.tensors[3].alias_of = 4;
  diamond.tensors[4].alias_of = 2;
  CHECK(diamond.Message() == "g.json: tensors[2] \"t2\": alias_of: the aliases make a cycle");
}

TEST_CASE("a cycle of dependencies names the ops on it, in the order of the data") {
  EditableDiamond diamond;
  diamond.ops[0].inputs = {3};  // a reads what c makes of a
  CHECK(diamond.Message() == "g.json: ops: the dependencies make a cycle: \"c\" -> \"a\" -> \"c\"");
  diamond = EditableDiamond();
  diamond.ops[0].inputs = {1};
  CHECK(diamond.Message() == "g.json: ops: the dependencies make a cycle: \"a\" -> \"a\"");
  diamond = EditableDiamond();
  diamond.ops[1].control_inputs = {3};
  CHECK(diamond.Message() == "g.json: ops: the dependencies make a cycle: \"d\" -> \"b\" -> \"d\"");
}

TEST_CASE("a long cycle is named in part") {
  constexpr int kOps = 1000;
  std::vector<Tensor> tensors(kOps);
  std::vector<Op> ops(kOps);
  for (int v = 0; v < kOps; ++v) {
    ops[v].name = "op" + std::to_string(v);
    ops[v].inputs = {(v + kOps - 1) % kOps};
    ops[v].outputs = {v};
  }
  const std::string message = MessageOf<InputError>([&] { Graph("ring", tensors, ops); });
  CHECK(message.find("... (1000 ops) -> ") != std::string::npos);
  CHECK(message.size() < 200);
}

TEST_CASE("roles and phases by name") {
  for (int i = 0; i < 7; ++i) {
    const auto role = static_cast<TensorRole>(i);
    CHECK(ParseTensorRole(ToString(role)) == role);
  }
  for (int i = 0; i < 3; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK(ParsePhase(ToString(phase)) == phase);
  }
  CHECK(ToString(TensorRole::kOptimizerState) == "optimizer_state");
  CHECK_FALSE(ParseTensorRole("Input").has_value());
  CHECK_FALSE(ParsePhase("").has_value());
}

TEST_CASE("random graphs: adjacency is consistent") {
  for (int seed = 0; seed < 200 * EMPLACE_TEST_SCALE; ++seed) {
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 40));
    CAPTURE(seed);
    REQUIRE(static_cast<int>(graph.topological_order().size()) == graph.num_ops());
    std::vector<int> position(graph.num_ops(), -1);
    int next = 0;
    for (int v : graph.topological_order()) position[v] = next++;
    CHECK(*std::min_element(position.begin(), position.end()) == 0);  // every op is there
    for (int v = 0; v < graph.num_ops(); ++v) {
      std::set<int> before(graph.op(v).control_inputs.begin(), graph.op(v).control_inputs.end());
      for (int t : graph.op(v).inputs) {
        if (graph.tensor(t).producer >= 0) before.insert(graph.tensor(t).producer);
        const auto readers = graph.readers(t);
        CHECK(std::binary_search(readers.begin(), readers.end(), v));
      }
      CHECK(List(graph.predecessors(v)) == Ids(before.begin(), before.end()));
      for (int u : before) {
        CHECK(position[u] < position[v]);
        const auto after = graph.successors(u);
        CHECK(std::binary_search(after.begin(), after.end(), v));
      }
      CHECK(graph.FindOp(graph.op(v).name) == v);
    }
  }
}

TEST_CASE("groups are numbered by their least op") {
  const Grouping grouping(Ids{7, -3, 7, 100, -3});
  CHECK(grouping.num_ops() == 5);
  CHECK(grouping.num_groups() == 3);
  CHECK(List(grouping.group_of_op()) == Ids{0, 1, 0, 2, 1});
  CHECK(List(grouping.members(0)) == Ids{0, 2});
  CHECK(List(grouping.members(2)) == Ids{3});
  CHECK(grouping.group_of(4) == 1);
  CHECK(List(Grouping::Identity(3).group_of_op()) == Ids{0, 1, 2});
  CHECK(Grouping::Identity(0).num_groups() == 0);
}

}  // namespace
}  // namespace emplace
