#include "framework/bounds/segments.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/bounds/one_machine.h"
#include "framework/cluster/symmetry.h"

namespace emplace {
namespace {

// Makes pairs of devices like their images.
// @param pair  [num_devices, num_devices] the least pair known to be like each
void JoinPairs(const DevicePermutation& image, std::vector<int>& pair) {
  const int n = static_cast<int>(image.size());
  for (int p = 0; p < n * n; ++p) {
    const int a = pair[p], b = pair[image[p / n] * n + image[p % n]];
    if (a != b) std::replace(pair.begin(), pair.end(), std::max(a, b), std::min(a, b));
  }
}

// Which devices, and pairs of devices, nothing tells apart.
struct DeviceClasses {
  explicit DeviceClasses(const Problem& problem) {
    const int n = problem.num_devices();
    const std::vector<int> label = DevicesOfEqualCosts(problem.costs());
    exchangeable = InterchangeableDevices(problem.cluster(), label);
    pair.resize(size_t(n) * n);
    std::iota(pair.begin(), pair.end(), 0);
    for (int d = 0; d < n; ++d) {
      DevicePermutation image(n);
      std::iota(image.begin(), image.end(), 0);
      std::swap(image[d], image[exchangeable[d]]);
      JoinPairs(image, pair);
    }
    // Boards and the like; more devices have more symmetries than are worth listing.
    constexpr int kMostDevices = 16, kMostSymmetries = 1000;
    if (n > kMostDevices) return;
    for (const auto& image : Symmetries(problem.cluster(), label, kMostSymmetries)) {
      JoinPairs(image, pair);
    }
  }

  std::vector<int> exchangeable;  // [num_devices] the least that each can be exchanged with
  std::vector<int> pair;          // [num_devices, num_devices] the least pair that is like each
};

// One segment and the search in it. Ops are local: the first, those between in topological order,
// the last; groups are local, too.
class Segment {
 public:
  Segment(const DelayGraph& graph,
          const DeviceClasses& classes,
          std::span<const int> ops,
          std::int64_t nodes,
          const std::function<bool()>& stop)
      : graph_(graph),
        cluster_(graph.problem().cluster()),
        classes_(classes),
        stop_(stop),
        num_devices_(graph.num_devices()),
        num_ops_(static_cast<int>(ops.size())) {
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
      for (const auto edges : {graph.edges_into(ops[i]), graph.added_into(ops[i])}) {
        for (const DelayGraph::Edge& edge : edges) {
          const auto from = op_of.find(edge.op);
          if (from != op_of.end()) edges_.push_back({from->second, edge.table});
        }
      }
      begin_.push_back(static_cast<int>(edges_.size()));
    }
    order_.resize(num_groups());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(
        order_.begin(), order_.end(), [&](int a, int b) { return weight_[a] > weight_[b]; });
    finish_.resize(size_t(num_ops_) * num_devices_);
    tail_.resize(finish_.size());
    channel_jobs_.resize(cluster_.num_channels());
    fixed_.resize(num_devices_);
    load_.resize(num_devices_);
    most_nodes_ = num_groups() + nodes;
  }

  // A bound on the time from the finish of the first op, on device s, to the start of the last, on
  // d; kMaxNanos if they cannot be there.
  Nanos Bound(int s, int d) {
    DeviceMasks masks = allowed_;
    masks[group_.front()] &= std::uint64_t{1} << s;
    masks[group_.back()] &= std::uint64_t{1} << d;
    if (masks[group_.front()] == 0 || masks[group_.back()] == 0) return kMaxNanos;
    // Whether the time is above `low` - 1 is proved; whether it is at most `high` is not disproved.
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

  // Delays looked at so far.
  std::int64_t effort() const { return effort_; }

 private:
  int num_groups() const { return static_cast<int>(allowed_.size()); }
  Nanos& at(std::vector<Nanos>& times, int op, int device) const {
    return times[size_t(op) * num_devices_ + device];
  }

  // A time, at most the target, that is not disproved; none if the target is.
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
    // The devices on which the group is least in the way first; of unused ones that can be
    // exchanged one is enough.
    std::vector<std::tuple<Nanos, bool, int>> choices;
    std::uint64_t tried = 0;
    for (std::uint64_t rest = masks[group]; rest; rest &= rest - 1) {
      const int d = std::countr_zero(rest);
      const bool is_used = used >> d & 1;
      const std::uint64_t same = std::uint64_t{1} << classes_.exchangeable[d];
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

  // Excludes devices. @return false if the target is disproved
  // @param value  raised to what is proved of the masks without the target
  bool Propagate(DeviceMasks& masks, Nanos target, Nanos& value) {
    for (bool changed = true; changed;) {
      changed = false;
      effort_ += std::ssize(edges_) * num_devices_ * num_devices_;
      SetFinishes(masks);
      SetTails(masks);
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
      for (int d = 0; d < num_devices_; ++d) {
        jobs_.clear();
        for (int g : order_) {
          if (masks[g] == std::uint64_t{1} << d) AddJobs(g, d, jobs_);
        }
        load_[d] = LoadOf(jobs_);
        fixed_[d] = jobs_;
        if (jobs_.size() > 1) value = std::max(value, OneMachineBound(jobs_, slots(d)));
      }
      value = std::max(value, ChannelBound(masks));
      if (value > target) return false;
      for (int g : order_) {
        if (std::has_single_bit(masks[g]) || weight_[g] == 0) continue;
        for (std::uint64_t rest = masks[g]; rest; rest &= rest - 1) {
          const int d = std::countr_zero(rest);
          if (!Excluded(g, d, target)) continue;
          masks[g] &= ~(std::uint64_t{1} << d);
          changed = true;
        }
        if (masks[g] == 0) return false;
      }
    }
    return true;
  }

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
      const Nanos time = at(cost_, op, device);
      if (time > 0) jobs.push_back({at(finish_, op, device) - time, time, at(tail_, op, device)});
    }
  }

  // Whether a group cannot be on a device besides those that must.
  bool Excluded(int group, int device, Nanos target) {
    jobs_.clear();
    AddJobs(group, device, jobs_);
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

  void SetFinishes(const DeviceMasks& masks) {
    for (int i = 0; i < num_ops_; ++i) {
      const std::uint64_t mask = masks[group_[i]];
      Nanos* const finish = &at(finish_, i, 0);
      for (int d = 0; d < num_devices_; ++d) finish[d] = mask >> d & 1 ? 0 : kMaxNanos;
      for (int e = begin_[i]; e < begin_[i + 1]; ++e) {
        RaiseStart(graph_.delays(edges_[e].table),
                   masks[group_[edges_[e].op]],
                   &at(finish_, edges_[e].op, 0),
                   mask,
                   finish,
                   num_devices_);
      }
      for (int d = 0; d < num_devices_; ++d) {
        finish[d] = std::min(kMaxNanos, finish[d] + at(cost_, i, d));
      }
    }
  }

  void SetTails(const DeviceMasks& masks) {
    Nanos whole[kMaxDevices];
    std::fill(tail_.begin(), tail_.end(), 0);
    for (int i = num_ops_ - 1; i >= 0; --i) {
      const std::uint64_t mask = masks[group_[i]];
      for (int d = 0; d < num_devices_; ++d) {
        if (!(mask >> d & 1)) at(tail_, i, d) = kMaxNanos;
        whole[d] = std::min(kMaxNanos, at(tail_, i, d) + at(cost_, i, d));
      }
      for (int e = begin_[i]; e < begin_[i + 1]; ++e) {
        RaiseTail(graph_.delays(edges_[e].table),
                  mask,
                  whole,
                  masks[group_[edges_[e].op]],
                  &at(tail_, edges_[e].op, 0),
                  num_devices_);
      }
    }
  }

  Nanos ChannelBound(const DeviceMasks& masks) {
    sent_.clear();
    for (int i = 1; i < num_ops_; ++i) {
      if (!std::has_single_bit(masks[group_[i]])) continue;
      const int to = std::countr_zero(masks[group_[i]]);
      for (int e = begin_[i]; e < begin_[i + 1]; ++e) {
        const int op = edges_[e].op;
        const std::int64_t bytes = graph_.bytes(edges_[e].table);
        const std::uint64_t from = masks[group_[op]];
        if (bytes < 0 || !std::has_single_bit(from) || from == masks[group_[i]]) continue;
        sent_.push_back({op, to, bytes, at(cost_, i, to) + at(tail_, i, to)});
      }
    }
    // Of each op and destination the largest item, to the reader that is most in a hurry.
    std::sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
      return std::tie(a.op, a.to, b.bytes, b.tail) < std::tie(b.op, b.to, a.bytes, a.tail);
    });
    for (auto& jobs : channel_jobs_) jobs.clear();
    const Sent* last = nullptr;
    for (const Sent& sent : sent_) {
      if (last && last->op == sent.op && last->to == sent.to) continue;
      last = &sent;
      const int from = std::countr_zero(masks[group_[sent.op]]);
      Nanos head = at(finish_, sent.op, from);
      Nanos tail = cluster_.TransferTime(from, sent.to, sent.bytes) + sent.tail;
      for (int k : cluster_.route(from, sent.to)) {
        const Channel& channel = cluster_.channel(k);
        const Nanos wire = WireTime(sent.bytes, channel.bandwidth);
        tail -= wire;
        if (!channel.broadcast) channel_jobs_[k].push_back({head, wire, tail});
        head += wire + channel.latency;
        tail -= channel.latency;
      }
    }
    Nanos bound = 0;
    for (auto& jobs : channel_jobs_) {
      if (jobs.size() > 1) bound = std::max(bound, OneMachineBound(jobs));
    }
    return bound;
  }

  struct Sent {
    int op, to;
    std::int64_t bytes;
    Nanos tail;
  };

  const DelayGraph& graph_;
  const Cluster& cluster_;
  const DeviceClasses& classes_;
  const std::function<bool()>& stop_;
  int num_devices_, num_ops_;
  std::vector<int> group_;                 // [num_ops]
  std::vector<Nanos> cost_;                // [num_ops, num_devices]
  std::vector<int> begin_;                 // [num_ops + 1] into edges_
  std::vector<DelayGraph::Edge> edges_;    // into each op, from local ops
  DeviceMasks allowed_;                    // [num_groups]
  std::vector<std::vector<int>> members_;  // [num_groups] ops between the ends
  std::vector<Nanos> weight_;              // [num_groups] their least costs
  std::vector<int> order_;                 // groups, heaviest first
  std::int64_t most_nodes_ = 0, nodes_ = 0, effort_ = 0;
  std::vector<Nanos> finish_, tail_;  // [num_ops, num_devices] of the node last looked at
  std::vector<Job> jobs_;
  std::vector<std::vector<Job>> fixed_;  // [num_devices] of groups that have no other choice
  std::vector<Load> load_;               // [num_devices] of these
  std::vector<Sent> sent_;
  std::vector<std::vector<Job>> channel_jobs_;  // [num_channels]
};

// Goes through the ops in order and looks for segments that end there.
class SegmentFinder {
 public:
  SegmentFinder(DelayGraph& graph,
                const SegmentLimits& limits,
                std::int64_t effort,
                const std::function<bool()>& stop)
      : graph_(graph),
        limits_(limits),
        effort_(effort),
        stop_(stop),
        classes_(graph.problem()),
        allowed_(AllowedDevices(graph.problem())),
        num_devices_(graph.num_devices()),
        finish_(size_t(graph.num_ops()) * num_devices_),
        marked_(graph.num_ops(), false) {}

  // @return what is left of the effort
  std::int64_t Run() {
    const std::vector<bool> is_critical = CriticalOps();
    for (int op = 0; op < graph_.num_ops() && effort_ > 0; ++op) {
      SetFinish(op);
      if (!is_critical[op] || graph_.edges_into(op).size() < 2) continue;
      if (stop_ && stop_()) break;
      AddSegmentsInto(op);
    }
    return effort_;
  }

 private:
  // An op on the device on which a longest path meets it.
  struct Step {
    int op, device;
  };

  Nanos finish(int op, int device) const { return finish_[size_t(op) * num_devices_ + device]; }

  void SetFinish(int op) { graph_.SetFinish(op, allowed_, finish_); }

  // Those on paths of nearly the longest length. [num_ops]
  std::vector<bool> CriticalOps() const {
    std::vector<Nanos> finish, tail, through(graph_.num_ops(), kMaxNanos);
    graph_.SetPaths(allowed_, finish, tail);
    for (int op = 0; op < graph_.num_ops(); ++op) {
      for (int d = 0; d < num_devices_; ++d) {
        const size_t i = size_t(op) * num_devices_ + d;
        through[op] = std::min(through[op], finish[i] + tail[i]);
      }
    }
    const Nanos longest = *std::max_element(through.begin(), through.end());
    const auto least = static_cast<Nanos>(limits_.share * static_cast<double>(longest));
    std::vector<bool> is_critical;
    for (Nanos time : through) is_critical.push_back(time >= least);
    return is_critical;
  }

  void AddSegmentsInto(int last) {
    const Nanos* const finishes = &finish_[size_t(last) * num_devices_];
    const int device =
        static_cast<int>(std::min_element(finishes, finishes + num_devices_) - finishes);
    if (finishes[device] == kMaxNanos) return;
    FindAncestors(last);
    Nanos solved = 0;
    size_t solved_ops = 0;
    for (Step step{last, device}; Back(step) && step.op >= ancestors_.back();) {
      FindSegment(step.op, last);
      if (std::ssize(ops_) > limits_.ops) return;
      const Nanos path =
          finish(last, device) - graph_.cost(last)[device] - finish(step.op, step.device);
      const Nanos excess = TimeOnOneDevice() - path;
      // A segment is worth its search if it can add much, more than the last one, and differs.
      if (excess <= (path - 1) / 200 || excess <= solved + solved / 20) continue;
      if (excess <= 0 || (solved_ops > 0 && 4 * ops_.size() < 5 * solved_ops)) continue;
      if (!HasEdge()) {
        Solve();
        SetFinish(last);
      }
      solved = excess;
      solved_ops = ops_.size();
    }
  }

  // Follows a longest path one op back.
  bool Back(Step& step) const {
    Step before{-1, -1};
    Nanos latest = -1;
    for (const auto edges : {graph_.edges_into(step.op), graph_.added_into(step.op)}) {
      for (const DelayGraph::Edge& edge : edges) {
        Nanos arrival = kMaxNanos;
        int from = step.device;
        for (int s = 0; s < num_devices_; ++s) {
          const Nanos time =
              finish(edge.op, s) + graph_.delays(edge.table)[s * num_devices_ + step.device];
          if (time < arrival || (time == arrival && s == step.device)) {
            arrival = time;
            from = s;
          }
        }
        if (arrival <= latest) continue;
        latest = arrival;
        before = {edge.op, from};
      }
    }
    step = before;
    return step.op >= 0;
  }

  // ancestors_ = the latest ancestors of an op, latest first, at least one.
  void FindAncestors(int op) {
    ancestors_.clear();
    std::priority_queue<int> open;
    std::vector<int> met;
    const auto meet = [&](int of) {
      for (const DelayGraph::Edge& edge : graph_.edges_into(of)) {
        if (marked_[edge.op]) continue;
        marked_[edge.op] = true;
        met.push_back(edge.op);
        open.push(edge.op);
      }
    };
    meet(op);
    while (!open.empty() && std::ssize(ancestors_) < limits_.window) {
      ancestors_.push_back(open.top());
      open.pop();
      meet(ancestors_.back());
    }
    for (int u : met) marked_[u] = false;
    effort_ -= 10 * std::ssize(met);
  }

  // ops_ = the segment of `first`, one of ancestors_, and `last`, whose they are.
  void FindSegment(int first, int last) {
    ops_.assign(1, first);
    marked_[first] = true;
    auto next = std::lower_bound(ancestors_.begin(), ancestors_.end(), first, std::greater<>());
    while (next != ancestors_.begin()) {
      const int op = *--next;
      for (const DelayGraph::Edge& edge : graph_.edges_into(op)) {
        if (!marked_[edge.op]) continue;
        marked_[op] = true;
        ops_.push_back(op);
        break;
      }
    }
    for (int op : ops_) marked_[op] = false;
    effort_ -= ancestors_.begin() - next + std::ssize(ancestors_);
    ops_.push_back(last);
  }

  // Of what lies between the ends of ops_, on the best device. [ns]
  Nanos TimeOnOneDevice() const {
    Nanos least = kMaxNanos;
    for (int d = 0; d < num_devices_; ++d) {
      Nanos sum = 0;
      for (size_t i = 1; i + 1 < ops_.size(); ++i) {
        sum = std::min(kMaxNanos, sum + graph_.cost(ops_[i])[d]);
      }
      least = std::min(least, sum);
    }
    return least;
  }

  bool HasEdge() const {
    return std::ranges::any_of(graph_.added_into(ops_.back()), [&](const DelayGraph::Edge& edge) {
      return edge.op == ops_.front();
    });
  }

  void Solve() {
    Segment segment(graph_, classes_, ops_, limits_.nodes, stop_);
    std::vector<Nanos> delays(classes_.pair.size());
    for (int pair = 0; pair < std::ssize(delays); ++pair) {
      const int like = classes_.pair[pair];
      delays[pair] =
          like < pair ? delays[like] : segment.Bound(pair / num_devices_, pair % num_devices_);
    }
    graph_.Add(ops_.front(), ops_.back(), delays);
    effort_ -= segment.effort();
  }

  DelayGraph& graph_;
  const SegmentLimits& limits_;
  std::int64_t effort_;
  const std::function<bool()>& stop_;
  const DeviceClasses classes_;
  const DeviceMasks allowed_;
  int num_devices_;
  std::vector<Nanos> finish_;  // [num_ops, num_devices]
  std::vector<bool> marked_;   // [num_ops] all false in between
  std::vector<int> ancestors_, ops_;
};

}  // namespace

SegmentLimits SegmentLimits::OfRound(int round) {
  const SegmentLimits first;
  return {.ops = first.ops << round,
          .window = first.window << round,
          .nodes = first.nodes << 2 * std::max(0, round - 1)};
}

std::int64_t AddSegments(DelayGraph& graph,
                         const SegmentLimits& limits,
                         std::int64_t effort,
                         const std::function<bool()>& stop) {
  return SegmentFinder(graph, limits, effort, stop).Run();
}

int AddQuickSegments(DelayGraph& graph) {
  std::int64_t effort = AddSegments(graph, SegmentLimits::OfRound(0), 60'000'000);
  if (effort <= 0) return 0;
  for (int round = 1; round <= 3 && effort > 0; ++round) {
    SegmentLimits limits = SegmentLimits::OfRound(round);
    limits.share = kCriticalShare;
    effort = AddSegments(graph, limits, effort);
  }
  return 1;
}

}  // namespace emplace
