#include "framework/graph/coarsen.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::RandomGraph;
using testing::RandomGraphOptions;
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

// "ab c" for groups {a, b} and {c}.
std::string Groups(const Graph& graph, const Grouping& grouping) {
  std::string text;
  for (int g = 0; g < grouping.num_groups(); ++g) {
    if (g > 0) text += ' ';
    for (int v : grouping.members(g)) text += graph.op(v).name;
  }
  return text;
}

Grouping Identity(const Graph& graph) {
  return Grouping::Identity(graph.num_ops());
}

std::vector<double> Ones(const Graph& graph) {
  return std::vector<double>(graph.num_ops(), 1.0);
}

Grouping RandomGrouping(Rng& rng, const Graph& graph) {
  Ids label(graph.num_ops());
  for (int& l : label) l = UniformInt(rng, graph.num_ops());
  return Grouping(label);
}

std::vector<double> RandomWeights(Rng& rng, const Graph& graph) {
  std::vector<double> weight(graph.num_ops());
  for (double& w : weight) w = UniformInt(rng, 10);  // many ties and zeros
  return weight;
}

// Bytes between two groups: each tensor once per group that reads it; -1 without any dependency.
std::int64_t BytesBetween(const Graph& graph, const Grouping& grouping, int a, int b) {
  std::int64_t bytes = -1;
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const int producer = graph.tensor(t).producer;
    if (producer < 0) continue;
    const int from = grouping.group_of(producer);
    if (from != a && from != b) continue;
    const int to = from == a ? b : a;
    const auto readers = graph.readers(t);
    if (std::any_of(
            readers.begin(), readers.end(), [&](int r) { return grouping.group_of(r) == to; })) {
      bytes = std::max<std::int64_t>(bytes, 0) + graph.tensor(t).bytes;
    }
  }
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (int u : graph.op(v).control_inputs) {
      const std::set<int> ends = {grouping.group_of(u), grouping.group_of(v)};
      if (ends == std::set<int>{a, b}) bytes = std::max<std::int64_t>(bytes, 0);
    }
  }
  return bytes;
}

bool Contains(const Grouping& coarse, const Grouping& fine) {
  for (int g = 0; g < fine.num_groups(); ++g) {
    for (int v : fine.members(g)) {
      if (coarse.group_of(v) != coarse.group_of(fine.members(g)[0])) return false;
    }
  }
  return true;
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

// The rule of MergeSingleConsumers, word by word.
Grouping NaiveSingleConsumers(const Graph& graph, Grouping grouping) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int g = 0; g < grouping.num_groups() && !changed; ++g) {
      std::set<int> consumers;
      for (int t = 0; t < graph.num_tensors(); ++t) {
        const int producer = graph.tensor(t).producer;
        if (producer < 0 || grouping.group_of(producer) != g) continue;
        for (int reader : graph.readers(t)) consumers.insert(grouping.group_of(reader));
      }
      consumers.erase(g);
      if (consumers.size() != 1) continue;
      Ids label(grouping.group_of_op().begin(), grouping.group_of_op().end());
      std::replace(label.begin(), label.end(), g, *consumers.begin());
      grouping = Grouping(label);
      changed = true;
    }
  }
  return grouping;
}

// The rule of MergeCheapest, word by word.
Grouping NaiveCheapest(const Graph& graph,
                       const Grouping& start,
                       const std::vector<double>& weight,
                       int num_groups) {
  Ids label(start.group_of_op().begin(), start.group_of_op().end());
  std::map<int, int> merged_at;  // by label: its number, or when it was merged last
  for (int g = 0; g < start.num_groups(); ++g) merged_at[g] = g;
  for (int time = start.num_groups();; ++time) {
    const Grouping grouping(label);
    if (grouping.num_groups() <= num_groups) return grouping;
    std::vector<std::tuple<double, int, int>> order;
    for (int g = 0; g < grouping.num_groups(); ++g) {
      double sum = 0;
      for (int v : grouping.members(g)) sum += weight[v];
      order.emplace_back(sum, merged_at.at(label[grouping.members(g)[0]]), g);
    }
    std::sort(order.begin(), order.end());
    int from = -1, to = -1;
    for (const auto& [sum, stamp, g] : order) {
      std::int64_t most = -1;
      for (int n = 0; n < grouping.num_groups(); ++n) {
        const std::int64_t bytes = n == g ? -1 : BytesBetween(graph, grouping, g, n);
        if (bytes > most) {  // ties: the least op id, which numbers the groups
          most = bytes;
          to = n;
        }
      }
      if (most >= 0) {
        from = g;
        break;
      }
    }
    if (from < 0) return grouping;
    const int gone = label[grouping.members(from)[0]], kept = label[grouping.members(to)[0]];
    std::replace(label.begin(), label.end(), gone, kept);
    merged_at[kept] = time;
  }
}

TEST_CASE("random graphs: the fast passes do what their rules say") {
  for (int seed = 0; seed < 150 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 25));
    const Grouping start = UniformInt(rng, 2) == 0 ? Identity(graph) : RandomGrouping(rng, graph);
    const std::vector<double> weight = RandomWeights(rng, graph);
    CHECK(Groups(graph, MergeSingleConsumers(graph, start, weight)) ==
          Groups(graph, NaiveSingleConsumers(graph, start)));
    const int num_groups = 1 + UniformInt(rng, start.num_groups());
    CHECK(Groups(graph, MergeCheapest(graph, start, weight, num_groups)) ==
          Groups(graph, NaiveCheapest(graph, start, weight, num_groups)));
  }
}

TEST_CASE(
    "random graphs: no pass splits a group, each is deterministic and idempotent where it says "
    "so") {
  for (int seed = 0; seed < 150 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(1000 + seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 60));
    const Grouping start = UniformInt(rng, 2) == 0 ? Identity(graph) : RandomGrouping(rng, graph);
    const std::vector<double> weight = RandomWeights(rng, graph);
    const int num_groups = 1 + UniformInt(rng, 10);
    const double share = 0.05 + Uniform01(rng);
    const std::vector<std::function<Grouping(const Grouping&)>> passes = {
        [&](const Grouping& g) { return ColocateByLabel(graph, g); },
        [&](const Grouping& g) { return ColocateGradients(graph, g); },
        [&](const Grouping& g) { return GroupByScope(graph, g, 1); },
        [&](const Grouping& g) { return MergeSingleConsumers(graph, g, weight); },
        [&](const Grouping& g) { return MergeSingleConsumers(graph, g, weight, share); },
        [&](const Grouping& g) { return MergeCheapest(graph, g, weight, num_groups); },
        [&](const Grouping& g) { return MergeHeavyEdges(graph, g, weight, num_groups); },
    };
    for (size_t p = 0; p < passes.size(); ++p) {
      CAPTURE(p);
      const Grouping after = passes[p](start);
      CHECK(Contains(after, start));
      CHECK(Groups(graph, after) == Groups(graph, passes[p](start)));
      if (p < 6) CHECK(Groups(graph, after) == Groups(graph, passes[p](after)));
    }
    // Co-location holds whatever follows it.
    const Grouping colocated = ColocateByLabel(graph, start);
    for (const auto& pass : passes) {
      const Grouping after = pass(colocated);
      std::map<std::string, int> group_of_label;
      for (int v = 0; v < graph.num_ops(); ++v) {
        if (graph.op(v).colocate.empty()) continue;
        CHECK(group_of_label.try_emplace(graph.op(v).colocate, after.group_of(v)).first->second ==
              after.group_of(v));
      }
      for (const Tensor& tensor : graph.tensors()) {
        const int owner = tensor.alias_of < 0 ? -1 : graph.tensor(tensor.alias_of).producer;
        if (owner >= 0 && tensor.producer >= 0) {
          CHECK(after.group_of(owner) == after.group_of(tensor.producer));
        }
      }
    }
    // The limit of weight holds for groups that were made, not for those that were there.
    const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
    const auto sum = [&](std::span<const int> members) {
      return std::accumulate(
          members.begin(), members.end(), 0.0, [&](double s, int v) { return s + weight[v]; });
    };
    const auto check_limit = [&](const Grouping& after, double limit) {
      for (int g = 0; g < after.num_groups(); ++g) {
        const auto members = after.members(g);
        const auto old = start.members(start.group_of(members[0]));
        if (members.size() != old.size()) CHECK(sum(members) <= limit * (1 + 1e-12));
      }
    };
    if (share < 1) check_limit(passes[4](start), share * total);
    check_limit(passes[6](start), 1.5 * total / num_groups);
  }
}

TEST_CASE("random connected graphs: merging the cheapest reaches exactly N") {
  for (int seed = 0; seed < 100 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 100), {.connected = true});
    const int num_groups = 1 + UniformInt(rng, graph.num_ops());
    const Grouping after =
        MergeCheapest(graph, Identity(graph), RandomWeights(rng, graph), num_groups);
    CHECK(after.num_groups() == num_groups);
  }
}

}  // namespace
}  // namespace emplace
