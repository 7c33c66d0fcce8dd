#include "framework/bounds/partial_bound.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <unordered_map>

#include "framework/bounds/segments.h"

namespace emplace {

PartialBound::PartialBound(const Problem& problem)
    : problem_(problem),
      num_devices_(problem.num_devices()),
      members_(problem.num_groups()),
      fixed_(problem.num_devices()),
      transfers_(problem.cluster()) {
  DelayGraph graph(problem);
  AddQuickSegments(graph);
  SetNodes(graph);
  SetHeavy();
  finish_.resize(cost_.size());
  tail_.resize(cost_.size());
}

void PartialBound::SetNodes(const DelayGraph& graph) {
  const int n = num_devices_, num_ops = graph.num_ops();
  std::vector<int> num_readers(num_ops, 0);
  for (int op = 0; op < num_ops; ++op) {
    graph.visit_edges_into(op, [&](const DelayGraph::Edge& edge) { ++num_readers[edge.op]; });
  }
  std::vector<int> node_of(num_ops);
  // The next op of a chain waits for the gap if the device has no other slot.
  const auto between = [&](int d) { return problem_.cluster().device(d).slots == 1 ? 1 : 0; };
  begin_.push_back(0);
  for (int op = 0; op < num_ops; ++op) {
    const auto edges = graph.edges_into(op);
    const bool follows = edges.size() == 1 && graph.added_into(op).empty() &&
                         num_readers[edges[0].op] == 1 &&
                         graph.group(edges[0].op) == graph.group(op);
    if (follows) {
      const int node = node_of[op] = node_of[edges[0].op];
      for (int d = 0; d < n; ++d) {
        const size_t at = size_t(node) * n + d;
        cost_[at] = std::min(kMaxNanos, cost_[at] + between(d) * gap_[at] + graph.cost(op)[d]);
        gap_[at] = graph.gap(op, d);
      }
      continue;
    }
    node_of[op] = num_nodes();
    members_[graph.group(op)].push_back(node_of[op]);
    group_.push_back(graph.group(op));
    cost_.insert(cost_.end(), graph.cost(op).begin(), graph.cost(op).end());
    for (int d = 0; d < n; ++d) gap_.push_back(graph.gap(op, d));
    graph.visit_edges_into(op, [&](const DelayGraph::Edge& edge) {
      edges_.push_back({node_of[edge.op], edge.table});
    });
    begin_.push_back(static_cast<int>(edges_.size()));
  }
  num_out_.resize(num_nodes());
  int last_table = 0;
  for (const Edge& edge : edges_) {
    ++num_out_[edge.node];
    last_table = std::max(last_table, edge.table);
  }
  for (int t = 0; t <= last_table; ++t) {
    delays_.insert(delays_.end(), graph.delays(t).begin(), graph.delays(t).end());
  }
  SetItems(node_of);
}

void PartialBound::SetItems(std::span<const int> node_of) {
  const Graph& graph = problem_.graph();
  const Cluster& cluster = problem_.cluster();
  std::vector<int> place(graph.num_ops());
  for (int i = 0; i < graph.num_ops(); ++i) place[graph.topological_order()[i]] = i;
  std::unordered_map<std::int64_t, int> index_of;  // by bytes
  for (int v = 0; v < graph.num_ops(); ++v) {
    const int node = node_of[place[v]];
    for (int t : graph.op(v).outputs) {
      const std::int64_t bytes = graph.tensor(t).bytes;
      Item item{node, 0, static_cast<int>(readers_.size()), 0};
      for (int reader : graph.readers(t)) {
        const int to = node_of[place[reader]];
        if (group_[to] != group_[node]) readers_.push_back(to);
      }
      item.end = static_cast<int>(readers_.size());
      if (item.end == item.first_reader) continue;
      const auto [known, added] = index_of.try_emplace(bytes, static_cast<int>(index_of.size()));
      item.bytes = known->second;
      items_.push_back(item);
      if (!added) continue;
      for (int k = 0; k < cluster.num_channels(); ++k) {
        wires_.push_back(WireTime(bytes, cluster.channel(k)));
      }
      for (int s = 0; s < num_devices_; ++s) {
        for (int d = 0; d < num_devices_; ++d) {
          times_.push_back(cluster.TransferTime(s, d, bytes));
        }
      }
    }
  }
}

void PartialBound::SetHeavy() {
  const int n = num_nodes();
  std::vector<Nanos> weight(n, kMaxNanos);
  for (int i = 0; i < n; ++i) {
    for (int d = 0; d < num_devices_; ++d) {
      weight[i] = std::min(weight[i], cost_[size_t(i) * num_devices_ + d]);
    }
  }
  std::vector<int> nodes(n);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::ranges::stable_sort(nodes, [&](int a, int b) { return weight[a] > weight[b]; });
  if (std::ssize(nodes) > kMostHeavy) nodes.resize(kMostHeavy);
  int num_heavy = 0;
  heavy_.assign(n, -1);
  for (int i : nodes) {
    if (weight[i] > 0) heavy_[i] = num_heavy++;
  }
  before_.resize(n);
  after_.resize(n);
  const auto add = [&](HeavySet& to, const HeavySet& from, int node) {
    to |= from;
    if (heavy_[node] >= 0) to.set(heavy_[node]);
  };
  for (int i = 0; i < n; ++i) {
    for (const Edge& edge : EdgesInto(i)) add(before_[i], before_[edge.node], edge.node);
  }
  for (int i = n; i-- > 0;) {
    for (const Edge& edge : EdgesInto(i)) add(after_[edge.node], after_[i], i);
  }
  works_.resize(num_devices_);
}

Nanos PartialBound::WorkDone(const HeavySet& set, Nanos known) const {
  for (const std::vector<Work>& works : works_) {
    Nanos sum = 0;
    for (auto work = works.rbegin(); work != works.rend(); ++work) {
      if (work->time + sum + work->sum <= known) break;  // no earlier entry can exceed it, either
      if (!set.test(work->heavy)) continue;
      sum += work->cost;
      known = std::max(known, work->time + sum);
    }
  }
  return known;
}

void PartialBound::AddWork(int node, int device, Nanos time) {
  if (heavy_[node] < 0) return;
  std::vector<Work>& works = works_[device];
  // The job is spread over all slots.
  const Nanos cost =
      cost_[size_t(node) * num_devices_ + device] / problem_.cluster().device(device).slots;
  size_t at = works.size();
  while (at > 0 && works[at - 1].time > time) --at;
  works.insert(works.begin() + at, {time, cost, 0, heavy_[node]});
  for (; at < works.size(); ++at) {
    works[at].sum = works[at].cost + (at > 0 ? works[at - 1].sum : 0);
  }
}

Nanos PartialBound::operator()(std::span<const std::uint64_t> masks) {
  masks_.assign(masks.begin(), masks.end());
  return Exclude(masks_, kMaxNanos);
}

Nanos PartialBound::OfPlacement(const Placement& placement) {
  masks_.clear();
  for (const DeviceIndex d : placement.device) masks_.push_back(std::uint64_t{1} << d);
  return Exclude(masks_, kMaxNanos);
}

Nanos PartialBound::Exclude(DeviceMasks& masks, Nanos target) {
  Nanos bound = 0;
  for (bool changed = true; changed && bound <= target;) {
    changed = false;
    SetFinishes(masks);
    SetTails(masks);
    bound = std::max(bound, Paths(masks, target, changed));
    if (changed || bound > target) continue;
    bound = std::max(bound, Channels(masks));
    if (bound > target) break;
    bound = std::max(bound, Devices(masks, target, changed));
  }
  return bound;
}

void PartialBound::AddNode(int node,
                           const HeavySet& set,
                           int edges,
                           Nanos* time,
                           std::uint64_t mask) {
  if (edges > 1) {  // a single neighbour's time already includes this work
    Nanos least = kMaxNanos;
    for (std::uint64_t rest = mask; rest; rest &= rest - 1) {
      least = std::min(least, time[std::countr_zero(rest)]);
    }
    least = WorkDone(set, least);
    for (int d = 0; d < num_devices_; ++d) time[d] = std::max(time[d], least);
  }
  if (!std::has_single_bit(mask)) return;
  const int d = std::countr_zero(mask);
  AddWork(node, d, time[d]);
}

void PartialBound::SetFinishes(const DeviceMasks& masks) {
  const int n = num_devices_;
  Nanos least[kMaxDevices];
  for (auto& works : works_) works.clear();
  for (int i = 0; i < num_nodes(); ++i) {
    const std::uint64_t mask = masks[group_[i]];
    Nanos* const own = &finish_[size_t(i) * n];
    std::fill_n(own, n, 0);
    for (const Edge& edge : EdgesInto(i)) {
      const Nanos* const from = &finish_[size_t(edge.node) * n];
      if (edge.table == 0) {
        for (int d = 0; d < n; ++d) own[d] = std::max(own[d], from[d]);
        continue;
      }
      const Nanos* const delays = &delays_[size_t(edge.table) * n * n];
      std::fill_n(least, n, kMaxNanos);
      for (std::uint64_t rest = masks[group_[edge.node]]; rest; rest &= rest - 1) {
        const int s = std::countr_zero(rest);
        for (int d = 0; d < n; ++d) least[d] = std::min(least[d], from[s] + delays[s * n + d]);
      }
      for (int d = 0; d < n; ++d) own[d] = std::max(own[d], least[d]);
    }
    AddNode(i, before_[i], begin_[i + 1] - begin_[i], own, mask);
    const Nanos* const cost = &cost_[size_t(i) * n];
    for (int d = 0; d < n; ++d) {
      own[d] = mask >> d & 1 ? std::min(kMaxNanos, own[d] + cost[d]) : kMaxNanos;
    }
  }
}

void PartialBound::SetTails(const DeviceMasks& masks) {
  const int n = num_devices_;
  Nanos whole[kMaxDevices];
  std::ranges::fill(tail_, 0);
  for (auto& works : works_) works.clear();
  for (int i = num_nodes() - 1; i >= 0; --i) {
    const std::uint64_t mask = masks[group_[i]];
    Nanos* const own = &tail_[size_t(i) * n];
    const Nanos* const cost = &cost_[size_t(i) * n];
    AddNode(i, after_[i], num_out_[i], own, mask);
    for (int d = 0; d < n; ++d) {
      if (!(mask >> d & 1)) own[d] = kMaxNanos;
      whole[d] = std::min(kMaxNanos, own[d] + cost[d]);
    }
    for (const Edge& edge : EdgesInto(i)) {
      Nanos* const to = &tail_[size_t(edge.node) * n];
      if (edge.table == 0) {
        for (int d = 0; d < n; ++d) to[d] = std::max(to[d], whole[d]);
        continue;
      }
      const Nanos* const delays = &delays_[size_t(edge.table) * n * n];
      for (std::uint64_t rest = masks[group_[edge.node]]; rest; rest &= rest - 1) {
        const int s = std::countr_zero(rest);
        Nanos least = kMaxNanos;
        for (int d = 0; d < n; ++d) least = std::min(least, delays[s * n + d] + whole[d]);
        to[s] = std::max(to[s], least);
      }
    }
  }
}

Nanos PartialBound::Paths(DeviceMasks& masks, Nanos target, bool& changed) {
  Nanos bound = 0;
  for (int i = 0; i < num_nodes(); ++i) {
    bound = std::max(bound, KeepFitting(masks[group_[i]], target, changed, [&](int d) {
                       const size_t at = size_t(i) * num_devices_ + d;
                       return finish_[at] + tail_[at];
                     }));
    if (bound > target) return bound;
  }
  return bound;
}

void PartialBound::AddJobs(int group, int device, std::vector<Job>& jobs) const {
  for (int i : members_[group]) {
    const size_t at = size_t(i) * num_devices_ + device;
    if (cost_[at] > 0) jobs.push_back(JobOf(finish_[at], cost_[at], gap_[at], tail_[at]));
  }
}

Nanos PartialBound::Devices(DeviceMasks& masks, Nanos target, bool& changed) {
  for (int d = 0; d < num_devices_; ++d) {
    const auto transfers = transfers_.occupying(d);
    fixed_[d].assign(transfers.begin(), transfers.end());
  }
  for (int g = 0; g < problem_.num_groups(); ++g) {
    if (!std::has_single_bit(masks[g])) continue;
    const int d = std::countr_zero(masks[g]);
    AddJobs(g, d, fixed_[d]);
  }
  Nanos bound = 0;
  const auto slots = [&](int d) { return problem_.cluster().device(d).slots; };
  for (int d = 0; d < num_devices_; ++d) {
    bound = std::max(bound, OneMachineBound(fixed_[d], slots(d)));
  }
  if (bound > target) return bound;
  for (int g = 0; g < problem_.num_groups(); ++g) {
    if (std::has_single_bit(masks[g])) continue;
    bound = std::max(bound, KeepFitting(masks[g], target, changed, [&](int d) {
                       jobs_ = fixed_[d];
                       AddJobs(g, d, jobs_);
                       return OneMachineBound(jobs_, slots(d));
                     }));
    if (bound > target) return bound;
  }
  return bound;
}

Nanos PartialBound::Channels(const DeviceMasks& masks) {
  const Cluster& cluster = problem_.cluster();
  const int n = num_devices_;
  transfers_.Clear();
  Nanos rest[kMaxDevices];  // cost and tail after the arrival on a device
  for (const Item& item : items_) {
    const std::uint64_t mask = masks[group_[item.node]];
    if (!std::has_single_bit(mask)) continue;
    const int from = std::countr_zero(mask);
    std::uint64_t to = 0;
    for (int r = item.first_reader; r < item.end; ++r) {
      const int node = readers_[r];
      const std::uint64_t its = masks[group_[node]];
      if (!std::has_single_bit(its) || its == mask) continue;
      const int d = std::countr_zero(its);
      const size_t at = size_t(node) * n + d;
      const Nanos after = cost_[at] + tail_[at];
      rest[d] = to & its ? std::max(rest[d], after) : after;
      to |= its;
    }
    for (; to; to &= to - 1) {
      const int d = std::countr_zero(to);
      Nanos head = finish_[size_t(item.node) * n + from];
      Nanos tail = times_[(size_t(item.bytes) * n + from) * n + d] + rest[d];
      for (int k : cluster.route(from, d)) {
        const Channel& channel = cluster.channel(k);
        const Nanos wire = wires_[size_t(item.bytes) * cluster.num_channels() + k];
        tail -= wire;
        transfers_.Add(k, from, d, {head, wire, tail});
        head += wire + channel.latency;
        tail -= channel.latency;
      }
    }
  }
  return transfers_.Bound();
}

}  // namespace emplace
