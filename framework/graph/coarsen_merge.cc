#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/saturating.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

using internal::UnionFind;

template <class T>
using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

// Merging always moves the smaller of two neighbourhoods: O(edges * log) moves in total. Results
// must not depend on the order in a hash table, so every choice below has a total order.

// The consumers and producers of each group.
class ConsumerSets {
 public:
  ConsumerSets(const Graph& graph, const Grouping& grouping)
      : consumers_(grouping.num_groups()), producers_(grouping.num_groups()) {
    for (int t = 0; t < graph.num_tensors(); ++t) {
      const int producer = graph.tensor(t).producer;
      if (producer < 0) continue;
      const int from = grouping.group_of(producer);
      for (int reader : graph.readers(t)) {
        const int to = grouping.group_of(reader);
        if (from == to) continue;
        consumers_[from].insert(to);
        producers_[to].insert(from);
      }
    }
  }

  const std::unordered_set<int>& consumers(int group) const { return consumers_[group]; }

  // Returns the id that the merged group keeps. Calls changed(p) for each producer
  // that loses a consumer.
  template <class Changed>
  int Merge(int a, int b, const Changed& changed) {
    const auto degree = [&](int x) { return consumers_[x].size() + producers_[x].size(); };
    if (degree(a) < degree(b)) std::swap(a, b);  // b's neighbours move to a
    Disconnect(a, b);
    Disconnect(b, a);
    for (int consumer : consumers_[b]) {
      producers_[consumer].erase(b);
      producers_[consumer].insert(a);
      consumers_[a].insert(consumer);
    }
    for (int producer : producers_[b]) {
      consumers_[producer].erase(b);
      if (!consumers_[producer].insert(a).second) changed(producer);
      producers_[a].insert(producer);
    }
    consumers_[b].clear();
    producers_[b].clear();
    return a;
  }

 private:
  void Disconnect(int from, int to) {
    consumers_[from].erase(to);
    producers_[to].erase(from);
  }

  std::vector<std::unordered_set<int>> consumers_, producers_;
};

// Bytes between groups during merging. The counts are equal to those that GroupEdges would compute
// from scratch: a tensor that both merged groups read crosses only once after the merge.
class SharedBytes {
 public:
  SharedBytes(const Graph& graph, const Grouping& grouping)
      : graph_(graph),
        grouping_(grouping),
        bytes_(grouping.num_groups()),
        reads_(grouping.num_groups()),
        sets_(grouping.num_groups()),
        name_of_set_(grouping.num_groups()) {
    std::iota(name_of_set_.begin(), name_of_set_.end(), 0);
    const internal::GroupEdges edges = internal::MakeGroupEdges(graph, grouping);
    for (int group = 0; group < grouping.num_groups(); ++group) {
      for (const auto& edge : edges[group]) bytes_[group].emplace(edge.neighbor, edge.bytes);
      for (int v : grouping.members(group)) {
        for (int t : graph.reads(v)) {
          if (graph.tensor(t).producer >= 0) reads_[group].insert(t);
        }
      }
    }
  }

  const std::unordered_map<int, std::int64_t>& neighbors(int group) const { return bytes_[group]; }
  UnionFind& sets() { return sets_; }

  // Returns the id that the merged group keeps, one of the two.
  int Merge(int kept, int gone) {
    if (bytes_[kept].size() < bytes_[gone].size()) std::swap(kept, gone);
    bytes_[kept].erase(gone);
    bytes_[gone].erase(kept);
    for (const auto& [neighbor, bytes] : bytes_[gone]) {
      bytes_[neighbor].erase(gone);
      Add(neighbor, kept, bytes);
    }
    bytes_[gone].clear();
    sets_.Union(kept, gone);
    name_of_set_[sets_.Find(kept)] = kept;

    if (reads_[kept].size() < reads_[gone].size()) std::swap(reads_[kept], reads_[gone]);
    for (int t : reads_[gone]) {
      if (reads_[kept].insert(t).second) continue;
      const int producer = grouping_.group_of(graph_.tensor(t).producer);
      const int from = name_of_set_[sets_.Find(producer)];
      if (from != kept) Add(from, kept, -graph_.tensor(t).bytes);
    }
    reads_[gone].clear();
    return kept;
  }

 private:
  void Add(int a, int b, std::int64_t bytes) {
    for (auto* sum : {&bytes_[a][b], &bytes_[b][a]}) *sum = SaturatingAdd(*sum, bytes);
  }

  const Graph& graph_;
  const Grouping& grouping_;
  std::vector<std::unordered_map<int, std::int64_t>> bytes_;  // by neighbour [B]
  std::vector<std::unordered_set<int>> reads_;                // tensors with a producer
  UnionFind sets_;
  std::vector<int> name_of_set_;
};

}  // namespace

Grouping MergeSingleConsumers(const Graph& graph,
                              const Grouping& grouping,
                              const std::vector<double>& weight,
                              double max_share) {
  if (!(max_share > 0)) {
    throw InputError(fmt::format("max_share: got {}; expected a number > 0", max_share));
  }
  std::vector<double> group_weight = internal::GroupWeights(grouping, weight);
  double limit = 0;
  for (double w : group_weight) limit += w * max_share;

  ConsumerSets sets(graph, grouping);
  UnionFind merged(grouping.num_groups());
  std::vector<bool> gone(grouping.num_groups(), false);
  MinHeap<int> candidates;
  const auto consider = [&](int group) {
    if (sets.consumers(group).size() == 1) candidates.push(group);
  };
  for (int group = 0; group < grouping.num_groups(); ++group) consider(group);
  while (!candidates.empty()) {
    const int group = candidates.top();
    candidates.pop();
    if (gone[group] || sets.consumers(group).size() != 1) continue;
    const int consumer = *sets.consumers(group).begin();
    const double sum = group_weight[group] + group_weight[consumer];
    if (max_share < 1 && sum > limit) continue;  // permanently: groups only grow
    const int kept = sets.Merge(group, consumer, consider);
    gone[kept == group ? consumer : group] = true;
    group_weight[kept] = sum;
    merged.Union(group, consumer);
    consider(kept);
  }
  return Merged(grouping, merged);
}

Grouping MergeCheapest(const Graph& graph,
                       const Grouping& grouping,
                       const std::vector<double>& weight,
                       int num_groups) {
  if (num_groups < 1) {
    throw InputError(fmt::format("number of groups: got {}; expected >= 1", num_groups));
  }
  // Cheapest first. Among equals, the group that was merged least recently comes first, so that
  // groups without weight form pairs instead of one large group.
  struct Candidate {
    double weight;
    int stamp, group;
    auto operator<=>(const Candidate&) const = default;
  };
  const int count = grouping.num_groups();
  SharedBytes shared(graph, grouping);
  std::vector<double> group_weight = internal::GroupWeights(grouping, weight);
  std::vector<int> stamp(count);
  MinHeap<Candidate> candidates;
  for (int group = 0; group < count; ++group) {
    stamp[group] = group;
    candidates.push({group_weight[group], group, group});
  }
  int next_stamp = count;
  for (int left = count; left > num_groups && !candidates.empty();) {
    const Candidate cheapest = candidates.top();
    candidates.pop();
    const int group = cheapest.group;
    const auto& neighbors = shared.neighbors(group);
    if (stamp[group] != cheapest.stamp || neighbors.empty()) continue;
    const auto best =
        std::max_element(neighbors.begin(), neighbors.end(), [&](const auto& a, const auto& b) {
          // The root of a set is its least group, and groups are numbered by their least op.
          return a.second != b.second ? a.second < b.second
                                      : shared.sets().Find(a.first) > shared.sets().Find(b.first);
        });
    const int other = best->first;
    const int kept = shared.Merge(group, other);
    group_weight[kept] = group_weight[group] + group_weight[other];
    stamp[group] = stamp[other] = -1;
    stamp[kept] = next_stamp++;
    candidates.push({group_weight[kept], stamp[kept], kept});
    --left;
  }
  return Merged(grouping, shared.sets());
}

}  // namespace emplace
