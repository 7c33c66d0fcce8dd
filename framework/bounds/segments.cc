#include "framework/bounds/segments.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <vector>

#include "framework/bounds/segment_search.h"

namespace emplace {
namespace {

// Visits the ops in order and looks for segments that end there.
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
        pairs_(graph.problem()),
        allowed_(AllowedDevices(graph.problem())),
        num_devices_(graph.num_devices()),
        finish_(size_t(graph.num_ops()) * num_devices_),
        marked_(graph.num_ops(), false) {}

  // @return the remaining effort
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
  // An op, and the device on which a longest path passes through it.
  struct Step {
    int op, device;
  };

  Nanos finish(int op, int device) const { return finish_[size_t(op) * num_devices_ + device]; }

  void SetFinish(int op) { emplace::SetFinish(graph_, op, allowed_, finish_); }

  // Returns which ops are on paths of nearly the longest length. [num_ops]
  std::vector<bool> CriticalOps() const {
    std::vector<Nanos> finish, tail, through(graph_.num_ops(), kMaxNanos);
    SetPaths(graph_, allowed_, finish, tail);
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
      // A segment is searched only if it can add much, more than the last one, and differs from it.
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

  // Moves one op back along a longest path.
  bool Back(Step& step) const {
    Step before{-1, -1};
    Nanos latest = -1;
    graph_.visit_edges_into(step.op, [&](const DelayGraph::Edge& edge) {
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
      if (arrival <= latest) return;
      latest = arrival;
      before = {edge.op, from};
    });
    step = before;
    return step.op >= 0;
  }

  // Sets ancestors_ to the latest ancestors of an op, latest first, at least one.
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

  // Sets ops_ to the segment from `first` to `last`. ancestors_ are those of `last`.
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

  // Returns the time of the ops between the ends of ops_ on the best device. [ns]
  Nanos TimeOnOneDevice() const {
    Nanos least = kMaxNanos;
    for (int d = 0; d < num_devices_; ++d) {
      Nanos sum = 0;
      for (size_t i = 1; i + 1 < ops_.size(); ++i) {
        sum = std::min(kMaxNanos, sum + graph_.cost(ops_[i])[d] + graph_.gap(ops_[i], d));
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
    const SegmentDelays bound = BoundSegment(graph_, pairs_, ops_, limits_.nodes, stop_);
    graph_.Add(ops_.front(), ops_.back(), bound.delays);
    effort_ -= bound.effort;
  }

  DelayGraph& graph_;
  const SegmentLimits& limits_;
  std::int64_t effort_;
  const std::function<bool()>& stop_;
  const DevicePairs pairs_;
  const DeviceMasks allowed_;
  int num_devices_;
  std::vector<Nanos> finish_;  // [num_ops, num_devices]
  std::vector<bool> marked_;   // [num_ops] all false between calls
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
  // Enough for the first round on large graphs, since segments do not grow with the graph.
  constexpr std::int64_t kPasses = 60, kLeast = 60'000'000, kMost = 400'000'000;
  std::int64_t edges = graph.num_ops();
  for (int op = 0; op < graph.num_ops(); ++op) edges += std::ssize(graph.edges_into(op));
  const std::int64_t pass = edges * graph.num_devices() * graph.num_devices();
  std::int64_t effort =
      AddSegments(graph, SegmentLimits::OfRound(0), std::clamp(kPasses * pass, kLeast, kMost));
  if (effort <= 0) return 0;
  for (int round = 1; round <= 3 && effort > 0; ++round) {
    SegmentLimits limits = SegmentLimits::OfRound(round);
    limits.share = kCriticalShare;
    effort = AddSegments(graph, limits, effort);
  }
  return 1;
}

}  // namespace emplace
