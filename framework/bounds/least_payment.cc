#include "framework/bounds/least_payment.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "framework/bounds/flow_network.h"
#include "framework/bounds/item_arcs.h"
#include "framework/bounds/load_limit.h"

namespace emplace {
namespace {

constexpr Nanos kShares = 1024;  // steps of the factor of cost, and its largest value
constexpr int kMostNodes = 400;

enum class Side : std::uint8_t { kOpen, kInside, kOutside };

struct SearchEnd {
  Nanos least;  // kMaxNanos if no set has the work and the load
  bool whole;   // the search was not stopped
};

class PaymentSearch {
 public:
  // @param room  largest load of a set
  PaymentSearch(const CompiledPeriod& p, int device, Nanos least_work, Nanos room)
      : least_work_(least_work),
        room_(room),
        network_(p.num_groups),
        items_(AddItems(p, network_)),
        source_(network_.AddNode()),
        sink_(network_.AddNode()) {
    constexpr Nanos kMost = FlowNetwork::kUnbounded / kShares;
    Nanos total = 0, time = 0;
    for (int g = 0; g < p.num_groups; ++g) {
      cost_.push_back(std::min(p.problem.group_cost(g, device), room + 1));
      total = std::min(total + cost_[g], kMost);
      from_source_.push_back(network_.AddArc(source_, g, 0));
      to_sink_.push_back(network_.AddArc(g, sink_, 0));
    }
    for (const ItemArc& item : items_) time = std::min(time + item.time, kMost);
    whole_ = std::clamp<Nanos>(kMost / (1 + total + time), 1, kShares);
    for (const ItemArc& item : items_) network_.SetCapacity(item.arc, whole_ * item.time);
  }

  SearchEnd Run(const std::function<bool()>& stop) {
    open_ = {};
    least_ = kMaxNanos;
    Node root;
    for (const Nanos cost : cost_) root.side.push_back(cost > room_ ? Side::kOutside : Side::kOpen);
    Add(std::move(root));
    for (int nodes = 0; !open_.empty() && open_.top().bound < least_; ++nodes) {
      if (nodes == kMostNodes || stop()) return {open_.top().bound, false};
      const Node node = open_.top();
      open_.pop();
      for (const Side side : {Side::kInside, Side::kOutside}) {
        Node child = node;
        child.side[node.group] = side;
        Add(std::move(child));
      }
    }
    return {least_, true};
  }

  // Excludes the most expensive group of the best set from all further searches. @pre a set was
  // found
  void ExcludeDearest() { cost_[dearest_of_best_] = room_ + 1; }

 private:
  struct Node {
    std::vector<Side> side;
    Nanos bound = 0;
    int group = -1;  // on which it branches

    // The least bound is on top of a queue.
    bool operator<(const Node& other) const { return bound > other.bound; }
  };

  // Bounds a node and keeps it if it is worth a branch.
  void Add(Node node) {
    CutSet smaller = LeastSet(node, 0), larger;
    if (smaller.cost < least_work_) {
      larger = Largest(node);
      if (larger.cost < least_work_) return;
      node.bound = std::max(node.bound, Raise(node, smaller, larger));
    } else if (smaller.load() > room_) {
      larger = std::exchange(smaller, LeastSet(node, whole_));
      if (smaller.load() > room_) return;
      node.bound = std::max(node.bound, Lower(node, smaller, larger));
    } else {
      Take(smaller);
      return;
    }
    if (node.bound >= least_) return;
    Nanos dearest = -1;
    for (const bool differ : {true, false}) {
      for (std::size_t g = 0; g < cost_.size(); ++g) {
        if (node.side[g] != Side::kOpen || (differ && smaller.has[g] == larger.has[g])) continue;
        if (cost_[g] > dearest) {
          dearest = cost_[g];
          node.group = static_cast<int>(g);
        }
      }
      if (node.group >= 0) break;
    }
    if (node.group >= 0) open_.push(std::move(node));
  }

  // Returns a bound on the transfers of the sets of a node by rewards for cost; `smaller` has too
  // little work, `larger` has enough. Leaves the sets between which the best reward is.
  Nanos Raise(const Node& node, CutSet& smaller, CutSet& larger) {
    Nanos best = smaller.transfers;
    for (int cut = 0; cut < kMostCuts && smaller.cost < larger.cost; ++cut) {
      const double factor = -EqualFactor(smaller, larger) * static_cast<double>(whole_);
      const Nanos share = std::clamp<Nanos>(static_cast<Nanos>(factor), 0, kShares * whole_);
      if (share == 0) break;
      CutSet set = LeastSet(node, -share);
      const auto value = [&](const CutSet& s) { return whole_ * s.transfers - share * s.cost; };
      best = std::max(best, (value(set) + share * least_work_ + whole_ - 1) / whole_);
      TakeIfFits(set);
      if (value(set) >= std::min(value(smaller), value(larger))) break;
      (set.cost < least_work_ ? smaller : larger) = std::move(set);
    }
    return best;
  }

  // Likewise by prices for cost; `larger` has too much load, `smaller` does not.
  Nanos Lower(const Node& node, CutSet& smaller, CutSet& larger) {
    const auto least_set = [&](Nanos price) {
      CutSet set = LeastSet(node, price);
      TakeIfFits(set);
      return set;
    };
    return TransfersWithin(room_, whole_, least_set, smaller, larger);
  }

  void TakeIfFits(const CutSet& set) {
    if (set.cost >= least_work_ && set.load() <= room_) Take(set);
  }

  void Take(const CutSet& set) {
    if (set.transfers >= least_) return;
    least_ = set.transfers;
    dearest_of_best_ = -1;
    for (std::size_t g = 0; g < cost_.size(); ++g) {
      if (set.has[g] && (dearest_of_best_ < 0 || cost_[g] > cost_[dearest_of_best_])) {
        dearest_of_best_ = static_cast<int>(g);
      }
    }
  }

  // Returns the set of a node with the least whole_ * transfers + share * cost.
  CutSet LeastSet(const Node& node, Nanos share) {
    Nanos fixed = 0;
    for (std::size_t g = 0; g < cost_.size(); ++g) {
      const bool inside = node.side[g] == Side::kInside, outside = node.side[g] == Side::kOutside;
      const Nanos reward = share < 0 && !outside ? -share * cost_[g] : 0;
      network_.SetCapacity(from_source_[g], inside ? FlowNetwork::kUnbounded : reward);
      network_.SetCapacity(
          to_sink_[g], outside ? FlowNetwork::kUnbounded : std::max<Nanos>(0, share) * cost_[g]);
      if (!inside) fixed += reward;
    }
    const Nanos flow = network_.Flow(source_, sink_);
    CutSet set;
    for (std::size_t g = 0; g < cost_.size(); ++g) {
      set.has.push_back(network_.IsInside(static_cast<int>(g)));
      if (!set.has[g]) continue;
      set.cost += cost_[g];
      if (share < 0 && node.side[g] == Side::kOpen) fixed += share * cost_[g];
    }
    set.transfers = (flow - fixed - std::max<Nanos>(0, share) * set.cost) / whole_;
    return set;
  }

  // Returns all groups of a node that may be inside.
  CutSet Largest(const Node& node) {
    Node all = node;
    for (Side& side : all.side) {
      if (side == Side::kOpen) side = Side::kInside;
    }
    return LeastSet(all, 0);
  }

  const Nanos least_work_, room_;
  FlowNetwork network_;  // nodes are the groups, two per item, the source and the sink
  std::vector<ItemArc> items_;
  const int source_, sink_;
  std::vector<int> from_source_, to_sink_;  // [num_groups] arcs
  std::vector<Nanos> cost_;                 // [num_groups] at most room_ + 1
  Nanos whole_ = 1;
  std::priority_queue<Node> open_;
  Nanos least_ = kMaxNanos;  // of the sets that were found
  int dearest_of_best_ = -1;
};

// Returns the least payments of the devices of a class, ascending: every device pays at least the
// first one, and all devices at least the sum. [devices]
std::vector<Nanos> PaymentsOfClass(const CompiledPeriod& p,
                                   std::span<const int> devices,
                                   Nanos known,
                                   const std::function<bool()>& stop) {
  std::vector<Nanos> least(devices.size(), 0);
  const Nanos least_work = LeastWork(p, devices, known);
  if (p.pays[devices[0]] == 0 || least_work <= 0) return least;
  PaymentSearch search(p, devices[0], least_work, known - 1);
  for (std::size_t i = 0; i < least.size(); ++i) {
    const SearchEnd end = search.Run(stop);
    const Nanos found = std::max(end.least, least[i]);  // sets without a group pay no less
    std::fill(least.begin() + static_cast<std::ptrdiff_t>(i), least.end(), found);
    if (!end.whole || end.least == kMaxNanos) break;
    search.ExcludeDearest();
  }
  for (Nanos& time : least) time = std::min(time, known);
  return least;
}

}  // namespace

Nanos LeastWork(const CompiledPeriod& p, std::span<const int> devices, Nanos known) {
  const int own = devices[0];
  std::vector<bool> is_own(p.num_devices, false);
  for (const int d : devices) is_own[d] = true;
  std::vector<std::pair<Nanos, int>> work;  // costs, groups
  Nanos least = 0;
  for (int g = 0; g < p.num_groups; ++g) {
    if (p.problem.group_cost(g, own) < known) {
      work.emplace_back(p.problem.group_cost(g, own), g);
      least += work.back().first;
    }
  }
  // Each other device takes the groups that spare the class the most in its time, the last in part.
  for (int d = 0; d < p.num_devices; ++d) {
    if (is_own[d]) continue;
    const auto cost = [&](int g) { return static_cast<double>(p.problem.group_cost(g, d)); };
    std::ranges::sort(work, [&](const auto& a, const auto& b) {
      return static_cast<double>(a.first) * cost(b.second) >
             static_cast<double>(b.first) * cost(a.second);
    });
    auto left = static_cast<double>(known);
    double taken = 0;
    for (const auto& [spared, group] : work) {
      if (p.problem.group_cost(group, d) >= known) continue;
      const double share = cost(group) <= left ? 1 : left / cost(group);
      taken += share * static_cast<double>(spared);
      left -= share * cost(group);
      if (share < 1) break;
    }
    least -= static_cast<Nanos>(taken * (1 + 1e-9)) + 1;
  }
  return least - static_cast<Nanos>(devices.size() - 1) * (known - 1);
}

LeastPayments FindLeastPayments(const CompiledPeriod& p,
                                std::span<const int> class_of,
                                Nanos known,
                                const std::function<bool()>& stop) {
  LeastPayments least{std::vector<Nanos>(p.num_devices, 0), std::vector<Nanos>(p.num_devices, 0)};
  for (int first = 0; first < p.num_devices; ++first) {
    std::vector<int> devices;
    for (int d = 0; d < p.num_devices; ++d) {
      if (class_of[d] == first) devices.push_back(d);
    }
    if (devices.empty()) continue;
    const std::vector<Nanos> payments = PaymentsOfClass(p, devices, known, stop);
    for (const int d : devices) {
      least.own[d] = payments[0];
      least.of_class[d] = std::accumulate(payments.begin(), payments.end(), Nanos{0});
    }
  }
  return least;
}

}  // namespace emplace
