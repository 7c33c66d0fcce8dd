#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

using internal::UnionFind;

template <class T>
using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

// Merging always moves the smaller of two neighbourhoods, O(edges * log) moves in all. Nothing may
// depend on the order in a hash table: every choice below has a total order.

// Which groups read from which.
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

  // Returns the name the merged group goes by; calls changed(p) for producers whose consumers
  // became fewer.
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
    if (max_share < 1 && sum > limit) continue;  // for good: groups only grow
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
  const int count = grouping.num_groups();
  std::vector<std::unordered_map<int, std::int64_t>> neighbors(count);
  const internal::GroupEdges edges = internal::MakeGroupEdges(graph, grouping);
  for (int group = 0; group < count; ++group) {
    for (const auto& edge : edges[group]) neighbors[group].emplace(edge.neighbor, edge.bytes);
  }

  // Cheapest first; among equals the one that was merged least recently, so that groups without
  // weight pair up instead of one of them swallowing the others.
  struct Candidate {
    double weight;
    int stamp, group;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<double> group_weight = internal::GroupWeights(grouping, weight);
  std::vector<int> stamp(count), least(count);
  MinHeap<Candidate> candidates;
  for (int group = 0; group < count; ++group) {
    stamp[group] = least[group] = group;
    candidates.push({group_weight[group], group, group});
  }
  UnionFind merged(count);
  int next_stamp = count;
  for (int left = count; left > num_groups && !candidates.empty();) {
    const Candidate cheapest = candidates.top();
    candidates.pop();
    int gone = cheapest.group;
    if (stamp[gone] != cheapest.stamp || neighbors[gone].empty()) continue;
    const auto nearest = std::max_element(
        neighbors[gone].begin(), neighbors[gone].end(), [&](const auto& a, const auto& b) {
          return a.second != b.second ? a.second < b.second : least[a.first] > least[b.first];
        });
    int kept = nearest->first;
    if (neighbors[kept].size() < neighbors[gone].size()) std::swap(kept, gone);

    neighbors[kept].erase(gone);
    neighbors[gone].erase(kept);
    for (const auto& [neighbor, bytes] : neighbors[gone]) {
      neighbors[neighbor].erase(gone);
      for (auto* sum : {&neighbors[neighbor][kept], &neighbors[kept][neighbor]}) {
        *sum = internal::SaturatingAdd(*sum, bytes);
      }
    }
    neighbors[gone].clear();
    merged.Union(kept, gone);
    group_weight[kept] += group_weight[gone];
    least[kept] = std::min(least[kept], least[gone]);
    stamp[gone] = -1;
    stamp[kept] = next_stamp++;
    candidates.push({group_weight[kept], stamp[kept], kept});
    --left;
  }
  return Merged(grouping, merged);
}

}  // namespace emplace
