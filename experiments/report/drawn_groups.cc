#include "experiments/report/drawn_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/graph/coarsen_internal.h"

namespace emplace {
namespace {

// Merges groups, the cheapest first.
class CheapestFirst {
 public:
  CheapestFirst(const Graph& graph,
                const Grouping& start,
                std::span<const DeviceIndex> device_of_op,
                const std::vector<double>& weight)
      : start_(start), sets_(start.num_groups()), neighbors_(start.num_groups()) {
    weight_ = internal::GroupWeights(start, weight);
    const internal::GroupEdges edges = internal::MakeGroupEdges(graph, start);
    for (int group = 0; group < start.num_groups(); ++group) {
      device_.push_back(device_of_op[start.members(group)[0]]);
      queue_.emplace(weight_[group], group);
      for (const auto& edge : edges[group]) neighbors_[group][edge.neighbor] = edge.bytes;
    }
  }

  Grouping MergeUntil(int num_nodes) {
    for (int left = start_.num_groups(); left > num_nodes && !queue_.empty();) {
      const int group = queue_.begin()->second;
      queue_.erase(queue_.begin());
      const int other = BestNeighbor(group);
      if (other < 0) continue;  // stays separate
      Merge(group, other);
      --left;
    }
    return internal::Merged(start_, sets_);
  }

 private:
  // Returns -1 if there is none.
  int BestNeighbor(int group) const {
    int best = -1;
    const auto rank = [&](int other) {
      return std::pair(device_[other] == device_[group], neighbors_[group].at(other));
    };
    for (const auto& [other, bytes] : neighbors_[group]) {
      if (best < 0 || rank(other) > rank(best)) best = other;
    }
    return best;
  }

  // Merges two groups; the new one is on the device of the heavier one.
  void Merge(int a, int b) {
    queue_.erase({weight_[b], b});
    sets_.Union(a, b);
    const int kept = sets_.Find(a), gone = kept == a ? b : a;
    device_[kept] = weight_[gone] > weight_[kept] ? device_[gone] : device_[kept];
    weight_[kept] += weight_[gone];
    for (const auto& [other, bytes] : neighbors_[gone]) {
      neighbors_[other].erase(gone);
      if (other == kept) continue;
      neighbors_[kept][other] += bytes;
      neighbors_[other][kept] += bytes;
    }
    neighbors_[gone].clear();
    queue_.emplace(weight_[kept], kept);
  }

  const Grouping& start_;
  internal::UnionFind sets_;
  std::vector<double> weight_;
  std::vector<int> device_;
  std::vector<std::map<int, std::int64_t>> neighbors_;
  std::set<std::pair<double, int>> queue_;
};

// Joins the groups without neighbours, into one group per device.
Grouping JoinIsolated(const Graph& graph,
                      const Grouping& grouping,
                      std::span<const DeviceIndex> device_of_op) {
  std::vector<bool> connected(grouping.num_groups(), false);
  for (int v = 0; v < graph.num_ops(); ++v) {
    for (const int next : graph.successors(v)) {
      const int from = grouping.group_of(v), to = grouping.group_of(next);
      if (from != to) connected[from] = connected[to] = true;
    }
  }
  std::vector<int> label(graph.num_ops());
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int group = grouping.group_of(v);
    const int first = grouping.members(group)[0];
    label[v] = connected[group] ? group : grouping.num_groups() + device_of_op[first];
  }
  return Grouping(label);
}

std::vector<std::string_view> ScopesOf(std::string_view name) {
  const char separator = name.find('/') != std::string_view::npos ? '/' : '.';
  std::vector<std::string_view> scopes;
  for (size_t end = name.find(separator); end != std::string_view::npos;
       end = name.find(separator, end + 1)) {
    scopes.push_back(name.substr(0, end));
  }
  return scopes;
}

}  // namespace

Grouping GroupForDrawing(const Graph& graph,
                         const Grouping& start,
                         std::span<const DeviceIndex> device_of_op,
                         const std::vector<double>& weight,
                         int num_nodes) {
  EMPLACE_CHECK(static_cast<int>(device_of_op.size()) == graph.num_ops());
  if (start.num_groups() <= num_nodes) return start;
  Grouping nodes = CheapestFirst(graph, start, device_of_op, weight).MergeUntil(num_nodes);
  if (nodes.num_groups() > num_nodes) nodes = JoinIsolated(graph, nodes, device_of_op);
  return nodes;
}

std::vector<std::string_view> ForwardNames(const Graph& graph) {
  std::vector<std::string_view> names;
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int forward = internal::ForwardOp(graph, v);
    names.push_back(graph.op(forward >= 0 ? forward : v).name);
  }
  return names;
}

std::string DrawnTitle(const std::vector<std::string_view>& names,
                       std::span<const int> ops,
                       const std::vector<double>& weight) {
  if (ops.size() == 1) return std::string(names[ops[0]]);
  double work = 0;
  for (const int v : ops) work += weight[v];
  const double total = work > 0 ? work : static_cast<double>(ops.size());
  std::map<std::string_view, double> share;
  for (const int v : ops) {
    for (const std::string_view scope : ScopesOf(names[v])) {
      share[scope] += work > 0 ? weight[v] : 1;
    }
  }
  std::string_view title;  // the scopes with more than half are nested
  for (const auto& [scope, sum] : share) {
    if (sum > total / 2 && scope.size() > title.size()) title = scope;
  }
  return std::string(title);
}

std::vector<DrawnEdge> HeaviestEdges(const std::vector<DrawnEdge>& edges,
                                     int num_nodes,
                                     double share) {
  const auto root = [&](int edge) {
    return std::sqrt(static_cast<double>(edges[edge].bytes) +
                     static_cast<double>(edges[edge].back));
  };
  std::vector<int> order(edges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return root(a) > root(b); });
  double total = 0, sum = 0;
  for (const int edge : order) total += root(edge);
  std::vector<bool> kept(edges.size());
  internal::UnionFind joined(num_nodes);
  for (const int edge : order) {
    const int from = edges[edge].from, to = edges[edge].to;
    kept[edge] = sum < share * total || joined.Find(from) != joined.Find(to);
    joined.Union(from, to);
    sum += root(edge);
  }
  std::vector<DrawnEdge> heaviest;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (kept[i]) heaviest.push_back(edges[i]);
  }
  return heaviest;
}

std::vector<DrawnEdge> DrawnEdges(const Graph& graph, const Grouping& nodes) {
  std::vector<int> first(nodes.num_groups(), -1), any(nodes.num_groups(), -1);
  int position = 0;
  for (const int v : graph.topological_order()) {
    const int node = nodes.group_of(v);
    const Op& op = graph.op(v);
    if (any[node] < 0) any[node] = position;
    if (first[node] < 0 && op.phase == Phase::kForward && !op.IsStorage()) first[node] = position;
    ++position;
  }
  const auto order = [&](int node) {
    return first[node] >= 0 ? std::pair(first[node], node)
                            : std::pair(any[node] + graph.num_ops(), node);
  };
  std::map<std::pair<int, int>, DrawnEdge> edges;
  internal::VisitCrossings(graph, nodes, [&](const Tensor* tensor, int from, int to) {
    const bool forward = order(from) < order(to);
    const auto ends = forward ? std::pair(from, to) : std::pair(to, from);
    DrawnEdge& edge = edges[ends];
    edge.from = ends.first;
    edge.to = ends.second;
    if (tensor == nullptr) return;
    (forward ? edge.bytes : edge.back) += tensor->bytes;
    ++edge.tensors;
  });
  std::vector<DrawnEdge> list;
  for (auto& [ends, edge] : edges) list.push_back(edge);
  return list;
}

}  // namespace emplace
