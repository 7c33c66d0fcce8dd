#include "framework/bounds/segment_search.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "framework/bounds/one_machine.h"
#include "framework/bounds/transfer_jobs.h"
#include "framework/cluster/cluster.h"

namespace emplace {
namespace {

// A segment with local indices. Ops are numbered: the first, those between in topological order,
// the last. Groups have local numbers, too.
class Segment {
 public:
  Segment(const DelayGraph& graph,
          const DevicePairs& pairs,
          std::span<const int> ops,
          std::int64_t nodes,
          const std::function<bool()>& stop)
      : graph_(graph),
        cluster_(graph.problem().cluster()),
        pairs_(pairs),
        stop_(stop),
        num_devices_(graph.num_devices()),
        num_ops_(static_cast<int>(ops.size())),
        transfers_(cluster_),
        extra_transfers_(cluster_) {
    std::unordered_map<int, int> op_of, group_of;
    begin_.push_back(0);
    for (int i = 0; i < num_ops_; ++i) {
      op_of[ops[i]] = i;
      const int group = graph.group(ops[i]);
      const auto [known, fresh] = group_of.try_emplace(group, static_cast<int>(allowed_.size()));
      if (fresh) {
        allowed_.push_back(graph.problem().allowed_devices(group));
        members_.emplace_back();
        weight_.push_back(0);
      }
      group_.push_back(known->second);
      const bool inside = i > 0 && i + 1 < num_ops_;
      if (inside) members_[group_[i]].push_back(i);
      Nanos least = kMaxNanos;
      for (Nanos cost : graph.cost(ops[i])) {
        least = std::min(least, cost);
        cost_.push_back(inside || cost == kMaxNanos ? cost : 0);
      }
      if (inside) weight_[group_[i]] += least;
      graph.visit_edges_into(ops[i], [&](const DelayGraph::Edge& edge) {
        const auto from = op_of.find(edge.op);
        if (from != op_of.end()) edges_.push_back({from->second, edge.table});
      });
      begin_.push_back(static_cast<int>(edges_.size()));
    }
    for (int d = 0; d < num_devices_; ++d) gap_.push_back(cluster_.kind_of(d).gap);
    for (int k = 0; k < cluster_.num_channels(); ++k) {
      occupies_ = occupies_ || cluster_.channel(k).occupies != Occupies::kNone;
    }
    sends_.resize(occupies_ ? num_groups() : 0);
    for (int i = 1; i < num_ops_ && occupies_; ++i) {
      for (int e = begin_[i]; e < begin_[i + 1]; ++e) {
        const int from = group_[edges_[e].op], to = group_[i];
        if (from == to || graph.bytes(edges_[e].table) < 0) continue;
        sends_[from].push_back({e, i});
        sends_[to].push_back({e, i});
      }
    }
    order_.resize(num_groups());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(
        order_.begin(), order_.end(), [&](int a, int b) { return weight_[a] > weight_[b]; });
    fixed_.resize(num_devices_);
    load_.resize(num_devices_);
    most_nodes_ = num_groups() + nodes;
  }

  // Returns a bound on the time from the finish of the first op, on device s, to the start of the
  // last, on d; kMaxNanos if they cannot be there.
  Nanos Bound(int s, int d) {
    DeviceMasks masks = allowed_;
    masks[group_.front()] &= std::uint64_t{1} << s;
    masks[group_.back()] &= std::uint64_t{1} << d;
    if (masks[group_.front()] == 0 || masks[group_.back()] == 0) return kMaxNanos;
    // Invariant: the time is proved to be at least `low`, and not refuted to be at most `high`.
    constexpr double kPrecision = 0.01, kPrecisionBeyondLimit = 0.05;
    Nanos low = 0, high = kMaxNanos - 1;
    auto root = masks;
    if (!Propagate(root, high, low)) return kMaxNanos;
    double precision = kPrecision;
    for (Nanos target = high; static_cast<double>(high - low) > precision * low;
         target = low + (high - low) / 2) {
      nodes_ = 0;
      root = masks;
      const std::optional<Nanos> found = Search(root, target);
      if (!found) {
        low = target + 1;
        continue;
      }
      high = *found;
      if (nodes_ > most_nodes_) precision = kPrecisionBeyondLimit;
    }
    return low;
  }

  // The part of the DelayGraph in local numbers, for SetPaths().
  int num_ops() const { return num_ops_; }
  int num_devices() const { return num_devices_; }
  int group(int op) const { return group_[op]; }
  const Nanos* cost(int op) const { return &cost_[size_t(op) * num_devices_]; }
  std::span<const Nanos> delays(int table) const { return graph_.delays(table); }
  template <class Visit>
  void visit_edges_into(int op, const Visit& visit) const {
    for (int e = begin_[op]; e < begin_[op + 1]; ++e) visit(edges_[e]);
  }

  // Returns the number of delays read so far.
  std::int64_t effort() const { return effort_; }

 private:
  int num_groups() const { return static_cast<int>(allowed_.size()); }
  Nanos& at(std::vector<Nanos>& times, int op, int device) const {
    return times[size_t(op) * num_devices_ + device];
  }

  // Returns a time, at most the target, that is not refuted; empty if the target is refuted.
  std::optional<Nanos> Search(DeviceMasks& masks, Nanos target) {
    if (++nodes_ > most_nodes_ || (stop_ && stop_())) return target;
    Nanos value = 0;
    if (!Propagate(masks, target, value)) return std::nullopt;
    const auto open = std::find_if(
        order_.begin(), order_.end(), [&](int g) { return !std::has_single_bit(masks[g]); });
    if (open == order_.end()) return value;
    const int group = *open;
    std::uint64_t used = 0;
    for (std::uint64_t mask : masks) used |= std::has_single_bit(mask) ? mask : 0;
    // Tries first the devices on which the group adds least. Of unused devices that can be
    // exchanged only one is tried.
    std::vector<std::tuple<Nanos, bool, int>> choices;
    std::uint64_t tried = 0;
    for (std::uint64_t rest = masks[group]; rest; rest &= rest - 1) {
      const int d = std::countr_zero(rest);
      const bool is_used = used >> d & 1;
      const std::uint64_t same = std::uint64_t{1} << pairs_.exchangeable[d];
      if (!is_used && (tried & same)) continue;
      if (!is_used) tried |= same;
      Nanos worst = 0;
      for (int op : members_[group]) worst = std::max(worst, at(finish_, op, d) + at(tail_, op, d));
      choices.emplace_back(worst, !is_used, d);
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& choice : choices) {
      DeviceMasks child = masks;
      child[group] = std::uint64_t{1} << std::get<2>(choice);
      const std::optional<Nanos> found = Search(child, target);
      if (found) return found;
    }
    return std::nullopt;
  }

  // Excludes devices. @return false if the target is refuted
  // @param value  raised to the bound proved for the masks, independent of the target
  bool Propagate(DeviceMasks& masks, Nanos target, Nanos& value) {
    for (bool changed = true; changed;) {
      changed = false;
      effort_ += std::ssize(edges_) * num_devices_ * num_devices_;
      SetPaths(*this, masks, finish_, tail_);
      for (int i = 0; i < num_ops_; ++i) {
        Nanos least = kMaxNanos;
        std::uint64_t& mask = masks[group_[i]];
        for (std::uint64_t rest = mask; rest; rest &= rest - 1) {
          const int d = std::countr_zero(rest);
          const Nanos through = at(finish_, i, d) + at(tail_, i, d);
          least = std::min(least, through);
          if (through <= target) continue;
          mask &= ~(std::uint64_t{1} << d);
          changed = true;
        }
        if (mask == 0) return false;
        value = std::max(value, least);
      }
      if (changed) continue;
      value = std::max(value, Channels(masks));
      for (int d = 0; d < num_devices_; ++d) {
        const auto transfers = transfers_.occupying(d);
        jobs_.assign(transfers.begin(), transfers.end());
        for (int g : order_) {
          if (masks[g] == std::uint64_t{1} << d) AddJobs(g, d, jobs_);
        }
        load_[d] = LoadOf(jobs_);
        fixed_[d] = jobs_;
        if (jobs_.size() > 1) value = std::max(value, OneMachineBound(jobs_, slots(d)));
      }
      if (value > target) return false;
      for (int g : order_) {
        if (std::has_single_bit(masks[g]) || weight_[g] == 0) continue;
        for (std::uint64_t rest = masks[g]; rest; rest &= rest - 1) {
          const int d = std::countr_zero(rest);
          if (!Excluded(masks, g, d, target)) continue;
          masks[g] &= ~(std::uint64_t{1} << d);
          changed = true;
        }
        if (masks[g] == 0) return false;
      }
    }
    return true;
  }

  // An edge between two groups, and the op at its end.
  struct Send {
    int edge, reader;
  };

  struct Load {
    Nanos head = 0, work = 0, tail = 0;  // the largest head, all work, the largest tail
  };

  int slots(int device) const { return cluster_.device(device).slots; }

  static Load LoadOf(std::span<const Job> jobs) {
    Load load;
    for (const Job& job : jobs) {
      load.head = std::max(load.head, job.head);
      load.work += job.time;
      load.tail = std::max(load.tail, job.tail);
    }
    return load;
  }

  void AddJobs(int group, int device, std::vector<Job>& jobs) {
    for (int op : members_[group]) {
      const Nanos cost = at(cost_, op, device);
      if (cost == 0) continue;
      jobs.push_back(JobOf(at(finish_, op, device), cost, gap_[device], at(tail_, op, device)));
    }
  }

  // Adds the transfers that occupy a device if a group is there, beyond those of all other groups.
  void AddTransfers(const DeviceMasks& masks, int group, int device, std::vector<Job>& jobs) {
    extra_.clear();
    for (const Send& send : sends_[group]) {
      const int maker = edges_[send.edge].op;
      const bool is_maker = group_[maker] == group;
      const std::uint64_t other = masks[group_[is_maker ? send.reader : maker]];
      if (!std::has_single_bit(other) || other == std::uint64_t{1} << device) continue;
      const int from = is_maker ? device : std::countr_zero(other);
      const int to = is_maker ? std::countr_zero(other) : device;
      const SentItem item = ItemOf(send.edge, send.reader, from, to);
      if (!is_maker && std::ranges::binary_search(sent_, item, SentItem::ComesBefore)) continue;
      extra_.push_back(item);
    }
    if (extra_.empty()) return;
    effort_ += 10 * std::ssize(extra_);
    SetTransfers(cluster_, extra_, extra_transfers_);
    const auto transfers = extra_transfers_.occupying(device);
    jobs.insert(jobs.end(), transfers.begin(), transfers.end());
  }

  // Returns whether a group cannot be on a device together with the groups that must be there.
  bool Excluded(const DeviceMasks& masks, int group, int device, Nanos target) {
    jobs_.clear();
    AddJobs(group, device, jobs_);
    if (occupies_) AddTransfers(masks, group, device, jobs_);
    const Load own = LoadOf(jobs_), &others = load_[device];
    if (std::max(own.head, others.head) + own.work + others.work +
            std::max(own.tail, others.tail) <=
        target) {
      return false;
    }
    jobs_.insert(jobs_.end(), fixed_[device].begin(), fixed_[device].end());
    effort_ += 10 * std::ssize(jobs_);
    return jobs_.size() > 1 && OneMachineBound(jobs_, slots(device)) > target;
  }

  SentItem ItemOf(int edge, int reader, int from, int to) const {
    const int maker = edges_[edge].op;
    return {.maker = maker,
            .from = from,
            .to = to,
            .bytes = graph_.bytes(edges_[edge].table),
            .head = finish_[size_t(maker) * num_devices_ + from],
            .tail = cost_[size_t(reader) * num_devices_ + to] +
                    tail_[size_t(reader) * num_devices_ + to]};
  }

  Nanos Channels(const DeviceMasks& masks) {
    sent_.clear();
    for (int i = 1; i < num_ops_; ++i) {
      if (!std::has_single_bit(masks[group_[i]])) continue;
      const int to = std::countr_zero(masks[group_[i]]);
      for (int e = begin_[i]; e < begin_[i + 1]; ++e) {
        const int op = edges_[e].op;
        const std::int64_t bytes = graph_.bytes(edges_[e].table);
        if (bytes < 0 || !std::has_single_bit(masks[group_[op]])) continue;
        const int from = std::countr_zero(masks[group_[op]]);
        if (from == to) continue;
        sent_.push_back(ItemOf(e, i, from, to));
      }
    }
    SetTransfers(cluster_, sent_, transfers_);
    return transfers_.Bound();
  }

  const DelayGraph& graph_;
  const Cluster& cluster_;
  const DevicePairs& pairs_;
  const std::function<bool()>& stop_;
  int num_devices_, num_ops_;
  std::vector<int> group_;                 // [num_ops]
  std::vector<Nanos> cost_;                // [num_ops, num_devices]
  std::vector<Nanos> gap_;                 // [num_devices]
  std::vector<int> begin_;                 // [num_ops + 1] into edges_
  std::vector<DelayGraph::Edge> edges_;    // into each op, from local ops
  DeviceMasks allowed_;                    // [num_groups]
  std::vector<std::vector<int>> members_;  // [num_groups] ops between the ends
  std::vector<Nanos> weight_;              // [num_groups] sum of their least costs
  std::vector<int> order_;                 // groups, heaviest first
  std::int64_t most_nodes_ = 0, nodes_ = 0, effort_ = 0;
  std::vector<Nanos> finish_, tail_;  // [num_ops, num_devices] of the current node
  std::vector<Job> jobs_;
  std::vector<std::vector<Job>> fixed_;   // [num_devices] of groups that must be there
  std::vector<Load> load_;                // [num_devices] of these groups
  bool occupies_ = false;                 // some channel occupies devices
  std::vector<std::vector<Send>> sends_;  // [num_groups] into and out of each, if occupies_
  std::vector<SentItem> sent_, extra_;
  TransferJobs transfers_, extra_transfers_;
};

}  // namespace

SegmentDelays BoundSegment(const DelayGraph& graph,
                           const DevicePairs& pairs,
                           std::span<const int> ops,
                           std::int64_t nodes,
                           const std::function<bool()>& stop) {
  Segment segment(graph, pairs, ops, nodes, stop);
  SegmentDelays result;
  const int n = graph.num_devices();
  for (int pair = 0; pair < n * n; ++pair) {
    const int like = pairs.like[pair];
    result.delays.push_back(like < pair ? result.delays[like] : segment.Bound(pair / n, pair % n));
  }
  result.effort = segment.effort();
  return result;
}

}  // namespace emplace
