#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"
#include "framework/graph/coarsen.h"
#include "tests/framework/graph/random_graph.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::RandomGraph;
using Ids = std::vector<int>;

// t0 -> a(0) -> t1 -> b(1) -> t2 -> d(3) -> t4; a's t1 -> c(2) -> t3 -> d; c waits for b by
// control.
struct Diamond {
  std::vector<Tensor> tensors{5};
  std::vector<Op> ops{4};

  Diamond() {
    const char* names[] = {"a", "b", "c", "d"};
    const std::vector<Ids> inputs = {{0}, {1}, {1}, {3, 2}};
    for (int v = 0; v < 4; ++v) {
      ops[v].name = names[v];
      ops[v].kind = std::string("Kind_") + names[v];
      ops[v].inputs = inputs[v];
      ops[v].outputs = {v + 1};
      ops[v].flops = 100 * (v + 1);
      ops[v].bytes_accessed = 10 * (v + 1);
      ops[v].workspace_bytes = v;
    }
    ops[2].control_inputs = {1};
    for (int t = 0; t < 5; ++t) {
      tensors[t].name = "t" + std::to_string(t);
      tensors[t].bytes = t + 1;
    }
    tensors[4].role = TensorRole::kOutput;
  }
  Graph Build() const { return Graph("diamond", tensors, ops, "{\"batch\":1}"); }
};

TEST_CASE("a contracted graph has the groups as ops and the tensors between them") {
  Diamond diamond;
  diamond.ops[1].phase = diamond.ops[0].phase = Phase::kBackward;
  const Graph graph = diamond.Build();
  const Graph small = Contract(graph, Grouping(Ids{0, 0, 1, 1}));  // {a, b}, {c, d}
  CHECK(small.name() == "diamond");
  CHECK(small.source() == "{\"batch\":1}");
  REQUIRE(small.num_ops() == 2);
  // t0 is a graph input, t1 and t2 cross, t3 (c to d) does not, t4 is an output.
  REQUIRE(small.num_tensors() == 4);
  const Op& ab = small.op(0);
  const Op& cd = small.op(1);
  CHECK(ab.name == "a");
  CHECK(ab.kind == "Kind_b");  // 200 FLOP against 100
  CHECK(ab.flops == 300);
  CHECK(ab.bytes_accessed == 30);
  CHECK(ab.workspace_bytes == 1);
  CHECK(ab.phase == Phase::kBackward);
  CHECK(ab.inputs == Ids{0});
  CHECK(ab.outputs == Ids{1, 2});
  CHECK(ab.control_inputs.empty());
  CHECK(cd.name == "c");
  CHECK(cd.flops == 700);
  CHECK(cd.workspace_bytes == 3);
  CHECK(cd.inputs == Ids{1, 2});
  CHECK(cd.outputs == Ids{3});
  CHECK(cd.control_inputs == Ids{0});
  CHECK(small.tensor(3).name == "t4");
  CHECK(small.tensor(3).role == TensorRole::kOutput);
}

TEST_CASE("contracting into one op leaves inputs and outputs") {
  const Graph small = Contract(Diamond().Build(), Grouping(Ids{0, 0, 0, 0}));
  CHECK(small.num_ops() == 1);
  CHECK(small.num_tensors() == 2);
  CHECK(small.op(0).flops == 1000);
  CHECK(small.op(0).control_inputs.empty());
}

TEST_CASE("a group of storage is storage, with work it takes the kind of the work") {
  Diamond diamond;
  diamond.ops[0].kind = "constant";
  diamond.ops[0].inputs = {};
  diamond.ops[0].flops = diamond.ops[1].flops = 0;
  diamond.ops[1].kind = "reshape";
  diamond.tensors[1].role = TensorRole::kParameter;
  const Graph small = Contract(diamond.Build(), Grouping(Ids{0, 1, 2, 2}));
  CHECK(small.op(0).IsStorage());
  const Graph mixed = Contract(diamond.Build(), Grouping(Ids{0, 0, 2, 2}));
  CHECK(mixed.op(0).kind == "reshape");
  // Resident tensors stay even where nobody outside reads them.
  const Graph one = Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 0}));
  CHECK(one.op(0).outputs.size() == 2);
}

TEST_CASE("costs are summed for the kinds that every working member has") {
  Diamond diamond;
  diamond.ops[0].kind = "parameter";
  diamond.ops[0].inputs = {};
  diamond.ops[1].cost_ns = {{"k80", 10}, {"p100", 5}, {"cpu", 1}};
  diamond.ops[2].cost_ns = {{"cpu", 2}, {"k80", 7}};
  diamond.ops[3].cost_ns = {{"k80", 1}};
  using Costs = std::vector<std::pair<std::string, double>>;
  CHECK(Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 0})).op(0).cost_ns == Costs{{"k80", 18}});
  CHECK(Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 1})).op(0).cost_ns ==
        Costs{{"k80", 17}, {"cpu", 3}});
  diamond.ops[3].cost_ns.clear();
  CHECK(Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 0})).op(0).cost_ns.empty());
}

TEST_CASE("device kinds are intersected by name, an empty intersection is refused") {
  Diamond diamond;
  const Grouping one(Ids{0, 0, 0, 0});
  diamond.ops[1].device_kinds = {"p100", "gpu", "k80"};
  diamond.ops[3].device_kinds = {"k80", "gpu"};
  CHECK(Contract(diamond.Build(), one).op(0).device_kinds ==
        std::vector<std::string>{"gpu", "k80"});
  CHECK(Contract(diamond.Build(), Grouping(Ids{0, 1, 2, 3})).op(0).device_kinds.empty());
  diamond.ops[0].device_kinds = {"k80"};  // op 0 counts as any other op
  CHECK(Contract(diamond.Build(), one).op(0).device_kinds == std::vector<std::string>{"k80"});
  diamond.ops[1].device_kinds = {"cpu"};
  CHECK(MessageOf<InputError>([&] { Contract(diamond.Build(), one); }) ==
        "diamond: cannot contract the group of ops \"a\" (device_kinds: k80) and \"b\" "
        "(device_kinds: cpu): their lists have no name in common");
}

TEST_CASE("devices: names and patterns that lie within those of all others, else refused") {
  using Names = std::vector<std::string>;
  const auto common = [](const std::vector<Names>& devices) {
    Diamond diamond;
    for (std::size_t v = 0; v < devices.size(); ++v) diamond.ops[v].devices = devices[v];
    return Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 0})).op(0).devices;
  };
  CHECK(common({}) == Names{});
  CHECK(common({{}, {"gpu:1", "gpu:0"}}) == Names{"gpu:1", "gpu:0"});
  CHECK(common({{"gpu:1", "gpu:0"}, {"gpu:0", "cpu:0", "gpu:1"}}) == Names{"gpu:1", "gpu:0"});
  CHECK(common({{"gpu:*"}, {"gpu:1", "cpu:0"}}) == Names{"gpu:1"});
  CHECK(common({{"gpu:1", "cpu:*"}, {}, {"gpu:?", "cpu:0"}}) == Names{"gpu:1", "cpu:0"});
  CHECK(common({{"*"}, {"gpu:*"}, {"gpu:1?"}, {"gpu:10"}}) == Names{"gpu:10"});
  const auto refusal = [&](const Names& a, const Names& b) {
    return MessageOf<InputError>([&] { common({a, b}); });
  };
  CHECK(refusal({"gpu:0", "gpu:2"}, {"gpu:1"}) ==
        "diamond: cannot contract the group of ops \"a\" (devices: gpu:0, gpu:2) and \"b\" "
        "(devices: gpu:1): their lists have no name in common");
  // '?' does not match all that '*' does; patterns of which neither covers the other are not split.
  CHECK(common({{"gpu:?"}, {"gpu:*"}}) == Names{"gpu:?"});
  CHECK(refusal({"gpu:?"}, {"*:0"}).find("no name in common") != std::string::npos);
}

TEST_CASE("devices of random groups match no device that a member does not match") {
  Rng rng(11);
  const std::vector<std::string> names = {"g:0", "g:1", "g:10", "c:0", "c:1"};
  const std::vector<std::string> patterns = {
      "g:0", "g:1", "g:10", "c:0", "g:*", "g:?", "g:1*", "?:0", "*", "*:?", "g:1?", "*0"};
  const auto allowed = [&](const std::vector<std::string>& devices) {
    int mask = 0;
    for (std::size_t d = 0; d < names.size(); ++d) {
      const bool any = std::ranges::any_of(
          devices, [&](const std::string& pattern) { return MatchesGlob(pattern, names[d]); });
      if (devices.empty() || any) mask |= 1 << d;
    }
    return mask;
  };
  int contracted = 0, exact = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Diamond diamond;
    int all = 31;
    for (Op& op : diamond.ops) {
      for (int i = UniformInt(rng, 4); i > 0; --i) {
        op.devices.push_back(patterns[UniformInt(rng, static_cast<int>(patterns.size()))]);
      }
      all &= allowed(op.devices);
    }
    std::vector<std::string> devices;
    try {
      devices = Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 0})).op(0).devices;
    } catch (const InputError&) {
      continue;
    }
    ++contracted;
    exact += allowed(devices) == all;
    CHECK((allowed(devices) & ~all) == 0);
  }
  CHECK(contracted > 200);
  CHECK(exact > contracted / 2);
}

TEST_CASE("groups whose ops shared labels share one") {
  Diamond diamond;
  diamond.ops[0].colocate = "x";
  diamond.ops[1].colocate = "y";
  diamond.ops[2].colocate = "y";
  const Graph graph = diamond.Build();
  const Graph small = Contract(graph, Grouping(Ids{0, 0, 1, 2}));  // {a, b}, {c}, {d}
  CHECK(small.op(0).colocate == small.op(1).colocate);
  CHECK(small.op(0).colocate != "");
  CHECK(small.op(2).colocate == "");
}

TEST_CASE("an alias keeps the tensor whose memory it shares") {
  Diamond diamond;
  diamond.tensors[3].alias_of = 2;  // c's t3 is b's t2, b's t2 is a's t1
  diamond.tensors[2].alias_of = 1;
  // {a, b, c}, {d}: t2 and t3 cross, t1 does not but owns their memory.
  const Graph small = Contract(diamond.Build(), Grouping(Ids{0, 0, 0, 1}));
  REQUIRE(small.num_tensors() == 5);
  CHECK(small.tensor(1).name == "t1");
  CHECK(small.tensor(2).alias_of == 1);
  CHECK(small.tensor(3).alias_of == 1);
}

TEST_CASE("groups on a cycle are named") {
  const Graph graph = Diamond().Build();
  const Grouping cyclic(Ids{0, 1, 0, 1});  // a -> b and c -> d one way, b -> c by control the other
  CHECK_FALSE(IsAcyclic(graph, cyclic));
  const std::string message = MessageOf<InputError>([&] { Contract(graph, cyclic); });
  CHECK(message.starts_with("diamond: contracting makes a cycle of the groups that begin with \""));
  const bool named = message.find("\"a\" -> \"b\" -> \"a\"") != std::string::npos ||
                     message.find("\"b\" -> \"a\" -> \"b\"") != std::string::npos;
  CHECK_MESSAGE(named, message);
  CHECK(IsAcyclic(graph, Grouping::Identity(4)));
  CHECK(IsAcyclic(graph, Grouping(Ids{0, 0, 0, 0})));
}

// Blocks of a topological order never make a cycle.
Grouping RandomBlocks(Rng& rng, const Graph& graph) {
  Ids label(graph.num_ops());
  int block = 0;
  for (int v : graph.topological_order()) label[v] = block += UniformInt(rng, 3) == 0;
  return Grouping(label);
}

TEST_CASE("random graphs: acyclicity agrees with a search for a cycle") {
  int cyclic = 0;
  for (int seed = 0; seed < 200 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 15), {.plain = true});
    CHECK(IsAcyclic(graph, RandomBlocks(rng, graph)));
    Ids label(graph.num_ops());
    for (int& l : label) l = UniformInt(rng, 5);
    const Grouping grouping(label);
    // Reachability by repeated steps.
    const int n = grouping.num_groups();
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
    for (int v = 0; v < graph.num_ops(); ++v) {
      for (int next : graph.successors(v)) {
        const int from = grouping.group_of(v), to = grouping.group_of(next);
        if (from != to) reaches[from][to] = true;
      }
    }
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
        }
      }
    }
    bool cycle = false;
    for (int g = 0; g < n; ++g) cycle = cycle || reaches[g][g];
    CHECK(IsAcyclic(graph, grouping) == !cycle);
    if (cycle) CHECK_THROWS_AS(Contract(graph, grouping), InputError);
    cyclic += cycle;
  }
  CHECK(cyclic > 20);
}

// Bytes that cross devices: each tensor once per device that reads it away from its producer.
std::int64_t CutBytes(const Graph& graph, const Ids& device_of_op) {
  std::int64_t bytes = 0;
  for (int t = 0; t < graph.num_tensors(); ++t) {
    const int producer = graph.tensor(t).producer;
    if (producer < 0) continue;
    std::set<int> devices;
    for (int reader : graph.readers(t)) devices.insert(device_of_op[reader]);
    devices.erase(device_of_op[producer]);
    bytes += graph.tensor(t).bytes * static_cast<std::int64_t>(devices.size());
  }
  return bytes;
}

TEST_CASE("random graphs: sums, bytes between groups and cuts of expanded placements are kept") {
  for (int seed = 0; seed < 200 * EMPLACE_TEST_SCALE; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 40), {.plain = seed % 2 == 0});
    const Grouping grouping = RandomBlocks(rng, graph);
    const Graph small = Contract(graph, grouping);
    REQUIRE(small.num_ops() == grouping.num_groups());
    double flops = 0, small_flops = 0;
    std::int64_t bytes = 0, small_bytes = 0;
    for (const Op& op : graph.ops()) {
      flops += op.flops;
      bytes += op.bytes_accessed;
    }
    for (const Op& op : small.ops()) {
      small_flops += op.flops;
      small_bytes += op.bytes_accessed;
    }
    CHECK(small_flops == doctest::Approx(flops).epsilon(1e-12));
    CHECK(small_bytes == bytes);

    for (int round = 0; round < 5; ++round) {
      Ids device_of_group(grouping.num_groups()), device_of_op(graph.num_ops());
      for (int& device : device_of_group) device = UniformInt(rng, 4);
      for (int v = 0; v < graph.num_ops(); ++v)
        device_of_op[v] = device_of_group[grouping.group_of(v)];
      CHECK(CutBytes(small, device_of_group) == CutBytes(graph, device_of_op));
    }
    // Dependencies between groups, and no others.
    for (int g = 0; g < small.num_ops(); ++g) {
      std::set<int> expected;
      for (int v : grouping.members(g)) {
        for (int u : graph.predecessors(v)) expected.insert(grouping.group_of(u));
      }
      expected.erase(g);
      const auto found = small.predecessors(g);
      CHECK(std::set<int>(found.begin(), found.end()) == expected);
    }
  }
}

}  // namespace
// w -> h -> loss -> dw -> update(w): w, h, dw and update form a group around the loss.
TEST_CASE("a group with a cycle through another one is split into rounds") {
  std::vector<Tensor> tensors(4);
  std::vector<Op> ops(5);
  const char* names[] = {"w", "h", "loss", "dw", "update"};
  for (int v = 0; v < 5; ++v) {
    ops[v].name = names[v];
    ops[v].kind = v == 0 ? "parameter" : "test";
    ops[v].flops = 1 << v;
    if (v < 4) {
      ops[v].outputs = {v};
      tensors[v].bytes = 10;
      ops[v + 1].inputs = {v};
    }
  }
  ops[4].inputs.push_back(0);
  const Graph graph("cycle", tensors, ops);
  const Grouping grouping(std::vector<int>{0, 0, 1, 0, 0});
  CHECK_FALSE(IsAcyclic(graph, grouping));
  CHECK_THROWS_AS(Contract(graph, grouping), InputError);
  // Rounds: w 0, h 0, loss 0 (a later group), dw 1 (back in the first group), update 1.
  const Grouping parts = SplitAcyclic(graph, grouping);
  CHECK(std::vector<int>(parts.group_of_op().begin(), parts.group_of_op().end()) ==
        std::vector<int>{0, 0, 1, 2, 2});
  const ContractedGraph contracted = ContractGroups(graph, grouping);
  REQUIRE(contracted.graph.num_ops() == 3);
  CHECK(contracted.graph.op(0).flops == 1 + 2);
  CHECK(contracted.graph.op(2).flops == 8 + 16);
  CHECK(contracted.graph.op(0).colocate == contracted.graph.op(2).colocate);
  CHECK(contracted.graph.op(1).colocate.empty());
  CHECK(contracted.groups.num_groups() == 2);
  CHECK(contracted.groups.group_of(2) == 0);
}

TEST_CASE("random groupings: the parts are acyclic, refine the groups and keep their numbers") {
  Rng rng(21);
  for (int trial = 0; trial < 100 * EMPLACE_TEST_SCALE; ++trial) {
    const Graph graph = RandomGraph(rng, 1 + UniformInt(rng, 40));
    std::vector<int> label(graph.num_ops());
    for (int& value : label) value = UniformInt(rng, 6);
    const Grouping grouping = ColocateByLabel(graph, Grouping(label));
    const Grouping parts = SplitAcyclic(graph, grouping);
    REQUIRE(IsAcyclic(graph, parts));
    const Grouping single = SplitAcyclic(graph, Grouping::Identity(graph.num_ops()));
    REQUIRE(single.num_groups() == graph.num_ops());
    std::vector<int> group_of_part;
    for (int p = 0; p < parts.num_groups(); ++p) {
      for (int v : parts.members(p)) {
        REQUIRE(grouping.group_of(v) == grouping.group_of(parts.members(p)[0]));
      }
      group_of_part.push_back(grouping.group_of(parts.members(p)[0]));
    }
    const Grouping groups(group_of_part);
    for (int p = 0; p < parts.num_groups(); ++p) REQUIRE(groups.group_of(p) == group_of_part[p]);
  }
}

}  // namespace emplace
