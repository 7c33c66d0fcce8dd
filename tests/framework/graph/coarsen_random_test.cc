#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "framework/graph/coarsen.h"
#include "tests/framework/graph/random_graph.h"

namespace emplace {
namespace {

using testing::Groups;
using testing::Identity;
using testing::RandomGraph;
using Ids = std::vector<int>;

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
        [&](const Grouping& g) { return ColocateParameters(graph, g); },
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
      if (p < 7) CHECK(Groups(graph, after) == Groups(graph, passes[p](after)));
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
    if (share < 1) check_limit(passes[5](start), share * total);
    check_limit(passes[7](start), 1.5 * total / num_groups);
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
