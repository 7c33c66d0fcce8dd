#include "framework/graph/coarsen.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::Groups;
using testing::Identity;
using testing::MessageOf;
using Ids = std::vector<int>;

// Ops that make one tensor each, tensor ids equal to op ids.
class Builder {
 public:
  int Op(const std::string& name, const Ids& inputs = {}, std::int64_t bytes = 1) {
    const int id = static_cast<int>(ops_.size());
    emplace::Op op;
    op.name = name;
    op.kind = "k";
    op.inputs = inputs;
    op.outputs = {id};
    ops_.push_back(op);
    tensors_.push_back({.name = name + ":0", .bytes = bytes});
    return id;
  }
  emplace::Op& op(int id) { return ops_[id]; }
  Tensor& tensor(int id) { return tensors_[id]; }
  Graph Build() const { return Graph("g", tensors_, ops_); }

 private:
  std::vector<Tensor> tensors_;
  std::vector<emplace::Op> ops_;
};

std::vector<double> Ones(const Graph& graph) {
  return std::vector<double>(graph.num_ops(), 1.0);
}

TEST_CASE("ops of one label share a group") {
  Builder b;
  for (const char* name : {"a", "b", "c", "d", "e"}) b.Op(name);
  b.op(0).colocate = b.op(3).colocate = "x";
  b.op(1).colocate = b.op(4).colocate = "y";
  const Graph graph = b.Build();
  CHECK(Groups(graph, ColocateByLabel(graph, Identity(graph))) == "ad be c");
  // Groups {a, b} and {c, d}: the labels now hold everything together but nothing is split.
  CHECK(Groups(graph, ColocateByLabel(graph, Grouping(Ids{0, 0, 1, 1, 2}))) == "abcde");
}

TEST_CASE("an update in place goes with its parameter, through a chain of aliases") {
  Builder b;
  const int w = b.Op("w"), grad = b.Op("g");
  const int update = b.Op("u", {w, grad});
  const int again = b.Op("v", {update});
  b.tensor(update).alias_of = w;
  b.tensor(again).alias_of = update;
  const Graph graph = b.Build();
  CHECK(Groups(graph, ColocateByLabel(graph, Identity(graph))) == "wuv g");
}

TEST_CASE("an alias of a graph input binds nothing") {
  std::vector<Tensor> tensors(3);
  tensors[1].alias_of = tensors[2].alias_of = 0;
  std::vector<Op> ops(2);
  for (int v = 0; v < 2; ++v) {
    ops[v].name = v == 0 ? "a" : "b";
    ops[v].inputs = {0};
    ops[v].outputs = {v + 1};
  }
  const Graph graph("g", tensors, ops);
  CHECK(Groups(graph, ColocateByLabel(graph, Identity(graph))) == "a b");
}

TEST_CASE("a gradient op goes with the forward op it names") {
  Builder b;
  b.Op("f");
  b.Op("g", {0});
  b.Op("h", {1});
  b.op(1).attributes = R"({"forward_op":"f","stride":[1]})";
  b.op(2).attributes = R"({"nested":{"forward_op":"nobody"}})";
  const Graph graph = b.Build();
  CHECK(Groups(graph, ColocateGradients(graph, Identity(graph))) == "fg h");

  b.op(2).attributes = R"({"forward_op":"ff"})";
  const Graph unknown = b.Build();
  CHECK(MessageOf<InputError>([&] { ColocateGradients(unknown, Identity(unknown)); }) ==
        "g: ops[2] \"h\": attributes.forward_op: unknown op \"ff\"; did you mean \"f\"? choices: "
        "f, g, h");
  b.op(2).attributes = R"({"forward_op":3})";
  const Graph number = b.Build();
  CHECK(MessageOf<InputError>([&] { ColocateGradients(number, Identity(number)); }) ==
        "g: ops[2] \"h\": attributes.forward_op: got 3; expected an op name");
}

TEST_CASE("a parameter goes with its first reader") {
  Builder b;
  const int w = b.Op("w"), x = b.Op("x");
  const int f = b.Op("f", {x, w}), g = b.Op("g", {f, w});
  b.Op("u", {w, g});
  b.op(w).kind = "parameter";
  const Graph graph = b.Build();
  CHECK(Groups(graph, ColocateParameters(graph, Identity(graph))) == "wf x g u");
  b.op(w).colocate = b.op(4).colocate = "w";
  const Graph updated = b.Build();
  const Grouping labelled = ColocateByLabel(updated, Identity(updated));
  CHECK(Groups(updated, ColocateParameters(updated, labelled)) == "wfu x g");

  Builder views;
  views.Op("w");
  views.Op("v", {0});
  views.tensor(1).alias_of = 0;
  views.Op("f", {1});
  views.op(0).kind = "parameter";
  const Graph viewed = views.Build();
  CHECK(Groups(viewed, ColocateParameters(viewed, Identity(viewed))) == "wf v");
}

TEST_CASE("single consumers: a chain is one group, a fork keeps its source apart") {
  Builder b;
  const int a = b.Op("a"), c = b.Op("c", {a}), d = b.Op("d", {c});
  b.Op("e", {d});
  b.Op("f", {d});  // d is read by e and f
  const Graph graph = b.Build();
  // a -> c -> d merge; d has two consumers; e and f produce what nobody reads.
  CHECK(Groups(graph, MergeSingleConsumers(graph, Identity(graph), Ones(graph))) == "acd e f");
}

TEST_CASE("single consumers: repeated on the merged groups") {
  Builder b;
  const int a = b.Op("a"), c = b.Op("c", {a}), d = b.Op("d", {a});
  b.Op("e", {c, d});
  const Graph graph = b.Build();
  // c and d go to e; then all of a's readers are that one group.
  CHECK(Groups(graph, MergeSingleConsumers(graph, Identity(graph), Ones(graph))) == "acde");
}

TEST_CASE("single consumers: a parameter goes to its only reader, a shared one stays") {
  Builder b;
  const int w = b.Op("w"), s = b.Op("s"), x = b.Op("x");
  const int m = b.Op("m", {x, w, s}), n = b.Op("n", {x, s});
  b.Op("p", {m, m});
  b.Op("q", {n, m});
  b.op(w).kind = b.op(s).kind = "parameter";
  const Graph graph = b.Build();
  // w -> m. n -> q. m is read by p and q; x and s by m and n's group.
  CHECK(Groups(graph, MergeSingleConsumers(graph, Identity(graph), Ones(graph))) == "wm s x nq p");
}

TEST_CASE("single consumers: control edges do not count") {
  Builder b;
  const int a = b.Op("a");
  b.Op("c", {a});
  b.Op("d");
  b.op(2).control_inputs = {a};
  const Graph graph = b.Build();
  CHECK(Groups(graph, MergeSingleConsumers(graph, Identity(graph), Ones(graph))) == "ac d");
}

TEST_CASE("single consumers: a share of the weight limits the groups") {
  Builder b;
  for (int v = 0; v < 8; ++v)
    b.Op(std::string(1, static_cast<char>('a' + v)), v > 0 ? Ids{v - 1} : Ids{});
  const Graph graph = b.Build();
  // A chain of 8 ops of weight 1; at most 3/8 in a group. By number: a goes to b, ab to c, abc is
  // full; d, the next, cannot take it in and goes to e, then f; g goes to h.
  const auto limited = MergeSingleConsumers(graph, Identity(graph), Ones(graph), 3.0 / 8);
  CHECK(Groups(graph, limited) == "abc def gh");
  CHECK(MessageOf<InputError>([&] { MergeSingleConsumers(graph, limited, Ones(graph), 0); }) ==
        "max_share: got 0; expected a number > 0");
}

TEST_CASE("scopes: the first of them, or all where there are fewer") {
  Builder b;
  for (const char* name : {"net/a/x",
                           "net/a/y",
                           "net/b/x",
                           "net/z",
                           "loss",
                           "other",
                           "p.q.weight",
                           "p.q.bias",
                           "p.r.s/t"}) {
    b.Op(name);
  }
  b.Op("gradients/net/a/x_grad");
  b.op(9).attributes = R"({"forward_op":"net/a/x"})";
  const Graph graph = b.Build();
  const auto labels = [&](int depth) {
    const Grouping grouping = GroupByScope(graph, Identity(graph), depth);
    return Ids(grouping.group_of_op().begin(), grouping.group_of_op().end());
  };
  // Scopes: net (0-3, 9), none (4, 5), p (6, 7), "p.r.s" (8: it has a '/').
  CHECK(labels(1) == Ids{0, 0, 0, 0, 1, 2, 3, 3, 4, 0});
  // net/a (0, 1, 9), net/b (2), net (3), none, p.q (6, 7), p.r.s.
  CHECK(labels(2) == Ids{0, 0, 1, 2, 3, 4, 5, 5, 6, 0});
  CHECK(labels(100) == labels(2));
  CHECK(MessageOf<InputError>([&] { GroupByScope(graph, Identity(graph), 0); }) ==
        "depth of scopes: got 0; expected >= 1");
}

TEST_CASE("cheapest: into the neighbour with most bytes, until enough") {
  Builder b;
  const int a = b.Op("a", {}, 100), c = b.Op("c", {a}, 5), d = b.Op("d", {a}, 7);
  b.Op("e", {c, d}, 1);
  const Graph graph = b.Build();
  const std::vector<double> weight = {4, 1, 2, 8};
  // c (1) shares 100 B with a, 5 B with e. Then {a, c} 5, d 2, e 8: d shares 100 B with a, 7 B with
  // e.
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), weight, 3)) == "ac d e");
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), weight, 2)) == "acd e");
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), weight, 1)) == "acde");
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), weight, 9)) == "a c d e");
  CHECK(MessageOf<InputError>([&] { MergeCheapest(graph, Identity(graph), weight, 0); }) ==
        "number of groups: got 0; expected >= 1");
}

TEST_CASE("cheapest: groups without work pair up in rounds") {
  Builder b;
  for (int v = 0; v < 4; ++v)
    b.Op(std::string(1, static_cast<char>('a' + v)), v > 0 ? Ids{v - 1} : Ids{});
  const Graph graph = b.Build();
  // All weights 0 in a chain a-b-c-d, all edges 1 B. a is first: its only neighbour is b. Then c,
  // of neighbours {a, b} and d: least op id, so {a, b, c}; d is left.
  const std::vector<double> zero(4, 0.0);
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), zero, 3)) == "ab c d");
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), zero, 2)) == "abc d");
}

TEST_CASE("cheapest: what has no neighbour is left alone") {
  Builder b;
  b.Op("a");
  b.Op("c");
  b.Op("d", {1});
  const Graph graph = b.Build();
  CHECK(Groups(graph, MergeCheapest(graph, Identity(graph), Ones(graph), 1)) == "a cd");
}

TEST_CASE("heavy edges: pairs by bytes within the weight limit") {
  Builder b;
  const int a = b.Op("a", {}, 1), c = b.Op("c", {a}, 9), d = b.Op("d", {c}, 2),
            e = b.Op("e", {d}, 9);
  b.Op("f", {e}, 1);
  b.Op("h", {e}, 1);
  const Graph graph = b.Build();
  // Limit 1.5 * 6 / 3 = 3. Neighbours: a 1, c 2, d 2, e 3, f 1, h 1. In this order: a takes c (1 B,
  // its only one); f takes e (9 B); h finds e taken; d finds c and e taken. Left: ac d ef h, 4 > 3.
  // Second round, limit 3, degrees: ac 1, d 2, ef 2, h 1: ac takes d; 3 groups, enough.
  CHECK(Groups(graph, MergeHeavyEdges(graph, Identity(graph), Ones(graph), 4)) == "ac d ef h");
  CHECK(Groups(graph, MergeHeavyEdges(graph, Identity(graph), Ones(graph), 3)) == "acd ef h");
  // Two groups: limit 4.5 allows acd (3) no more than one further op; ef takes h: acd efh.
  CHECK(Groups(graph, MergeHeavyEdges(graph, Identity(graph), Ones(graph), 2)) == "acd efh");
  CHECK(MessageOf<InputError>([&] { MergeHeavyEdges(graph, Identity(graph), Ones(graph), -2); }) ==
        "number of groups: got -2; expected >= 1");
}

TEST_CASE("heavy edges: a star stops after a round that hardly shrinks it") {
  Builder b;
  const int hub = b.Op("h");
  for (int v = 0; v < 300; ++v) b.Op("l" + std::to_string(v), {hub});
  const Graph graph = b.Build();
  CHECK(MergeHeavyEdges(graph, Identity(graph), Ones(graph), 10).num_groups() == 300);
}

}  // namespace
}  // namespace emplace
