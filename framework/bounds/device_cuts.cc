#include "framework/bounds/device_cuts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "framework/bounds/flow_network.h"
#include "framework/bounds/item_arcs.h"
#include "framework/bounds/load_limit.h"
#include "framework/bounds/period_terms.h"

namespace emplace {
namespace {

constexpr int kSeedsPerCheck = 8;
constexpr double kRounding = 1e-9;  // more than the rounding error of sums of shares
constexpr Nanos kPrecision = 1000;

// Minimum cuts as described in the header.
class LeastCut {
 public:
  explicit LeastCut(const CompiledPeriod& p)
      : num_groups_(p.num_groups), sink_(p.num_groups), network_(p.num_groups + 1) {
    for (int g = 0; g < p.num_groups; ++g) {
      cost_.push_back(LeastCost(p, g, [&](int d) { return p.pays[d] != 0; }));
      network_.AddArc(g, sink_, cost_[g]);
    }
    items_ = AddItems(p, network_);
    for (const ItemArc& item : items_) {
      total_time_ = std::min(total_time_ + item.time, FlowNetwork::kUnbounded);
    }
  }

  Nanos cost(int group) const { return cost_[group]; }

  /// Returns whether every set with `inside` and without `outside` has a load of at least `load`.
  bool IsAtLeast(int inside, int outside, Nanos load) {
    network_.SetCapacity(outside, FlowNetwork::kUnbounded);
    const bool is = network_.Flow(inside, sink_, load) >= load;
    network_.SetCapacity(outside, cost_[outside]);
    return is;
  }

  /// Returns the least transfers (t_u of the header) of a set with `group` and a load of at most
  /// `room`; kMaxNanos if there is none.
  Nanos LeastTransfers(int group, Nanos room) {
    const auto capped = [&](Nanos cost) { return std::min(cost, room + 1); };
    Nanos total = 0;
    for (const Nanos cost : cost_) total = std::min(total + capped(cost), FlowNetwork::kUnbounded);
    if (total <= room || total + total_time_ >= FlowNetwork::kUnbounded) return 0;
    const Nanos whole = std::min((FlowNetwork::kUnbounded - 1) / (total + total_time_), kShares);
    for (const ItemArc& item : items_) network_.SetCapacity(item.arc, whole * item.time);
    const auto least_set = [&](Nanos share) {
      for (int g = 0; g < num_groups_; ++g) network_.SetCapacity(g, share * capped(cost_[g]));
      const Nanos flow = network_.Flow(group, sink_);
      CutSet set;
      for (int g = 0; g < num_groups_; ++g) {
        set.has.push_back(network_.IsInside(g));
        if (set.has[g]) set.cost += capped(cost_[g]);
      }
      set.transfers = (flow - share * set.cost) / whole;
      return set;
    };
    CutSet within = least_set(whole), beyond{{}, total, 0};
    Nanos least = kMaxNanos;
    if (within.load() <= room) {
      least = TransfersWithin(room, whole, least_set, within, beyond);
      if (least > room) least = kMaxNanos;
    }
    for (int g = 0; g < num_groups_; ++g) network_.SetCapacity(g, cost_[g]);
    for (const ItemArc& item : items_) network_.SetCapacity(item.arc, item.time);
    return least;
  }

 private:
  static constexpr Nanos kShares = 1024;

  int num_groups_, sink_;
  FlowNetwork network_;  // nodes are the groups, the sink, and two per item; arc g leads
                         // from group g to the sink
  std::vector<ItemArc> items_;
  std::vector<Nanos> cost_;  // [num_groups]
  Nanos total_time_ = 0;
};

// @return [num_groups] labels for MergeGroups()
std::vector<int> InseparableGroups(const CompiledPeriod& p,
                                   Nanos known,
                                   const std::function<bool()>& stop) {
  std::vector<int> label(p.num_groups);
  std::iota(label.begin(), label.end(), 0);
  std::vector<std::uint64_t> allowed;
  for (int g = 0; g < p.num_groups; ++g) allowed.push_back(p.problem.allowed_devices(g));
  std::vector<bool> may_be_free(p.num_groups, false);  // on the device that does not pay
  int num_free = 0;
  for (int d = 0; d < p.num_devices; ++d) {
    if (p.pays[d] != 0) continue;
    ++num_free;
    for (int g = 0; g < p.num_groups; ++g) {
      if (p.problem.group_cost(g, d) < known) may_be_free[g] = true;
    }
  }
  if (num_free > 1) return label;
  const auto root = [&](int g) {
    while (label[g] != g) g = label[g] = label[label[g]];
    return g;
  };
  LeastCut cut(p);
  for (int i = 0; i < p.num_items; ++i) {
    for (const int b : p.readers_of(i)) {
      const int a = p.maker[i];
      if (root(a) == root(b) || (allowed[root(a)] & allowed[root(b)]) == 0) continue;
      if (stop()) break;
      // Each way of separating a and b overloads one device that pays.
      const bool a_alone = cut.IsAtLeast(a, b, known);
      if (may_be_free[b] && !a_alone) continue;
      const bool b_alone = (may_be_free[a] || !a_alone) && cut.IsAtLeast(b, a, known);
      if ((may_be_free[a] && !b_alone) || (!a_alone && !b_alone)) continue;
      allowed[root(a)] &= allowed[root(b)];
      label[root(b)] = root(a);
    }
  }
  for (int g = 0; g < p.num_groups; ++g) label[g] = root(g);
  return label;
}

// The share of a paying device that a group takes, and its share of one that does not pay. [1]
struct Shares {
  double paying, free;
};

constexpr double kNowhere = std::numeric_limits<double>::infinity();

// Returns whether the shares do not fit on the devices, by the rule of the header. The best price
// is one at which some group changes its side of the minimum.
bool HasTooLittleRoom(const std::vector<Shares>& shares, int num_paying, int num_free) {
  std::vector<Shares> either;
  double paid = -num_paying * (1 + kRounding), price_of_free = -num_free * (1 + kRounding);
  for (const Shares& share : shares) {
    if (share.paying == kNowhere && share.free == kNowhere) return true;
    if (share.free == kNowhere) {
      paid += share.paying;
    } else if (share.paying == kNowhere) {
      price_of_free += share.free;
    } else {
      either.push_back(share);
      price_of_free += share.free;
    }
  }
  if (paid > 0) return true;
  std::ranges::sort(
      either, {}, [](const Shares& s) { return s.free > 0 ? s.paying / s.free : kNowhere; });
  for (const Shares& share : either) {
    if (share.free == 0) break;  // all further ones are 0, too
    paid += share.paying;
    price_of_free -= share.free;
    if (paid + share.paying / share.free * price_of_free > 0) return true;
  }
  return price_of_free > 0;
}

}  // namespace

std::shared_ptr<const Problem> MergeInseparable(const Problem& problem,
                                                Nanos known,
                                                const std::function<bool()>& stop) {
  std::shared_ptr<const Problem> merged;
  while (true) {
    const Problem& before = merged ? *merged : problem;
    const CompiledPeriod compiled(before);
    std::shared_ptr<const Problem> next =
        MergeGroups(before, InseparableGroups(compiled, known, stop));
    const bool changed = next->num_groups() < before.num_groups();
    merged = std::move(next);
    if (!changed || stop()) return merged;
  }
}

std::vector<Nanos> LeastTransfers(const CompiledPeriod& problem,
                                  std::span<const int> groups,
                                  Nanos period) {
  LeastCut cut(problem);
  std::vector<Nanos> least;
  for (const int g : groups) least.push_back(cut.LeastTransfers(g, period - 1));
  return least;
}

bool IsRefuted(const Problem& problem, Nanos period, const std::function<bool()>& stop) {
  const std::shared_ptr<const Problem> merged = MergeInseparable(problem, period, stop);
  const CompiledPeriod p(*merged);
  const Nanos room = period - 1;
  const auto share = [&](Nanos cost, Nanos of) {
    if (cost == 0) return 0.0;
    return cost > of ? kNowhere : static_cast<double>(cost) / static_cast<double>(of);
  };
  const auto num_free = static_cast<int>(std::ranges::count(p.pays, 0));
  const int num_paying = p.num_devices - num_free;
  LeastCut cut(p);
  std::vector<Shares> shares;
  for (int g = 0; g < p.num_groups; ++g) {
    const Nanos free = LeastCost(p, g, [&](int d) { return p.pays[d] == 0; });
    shares.push_back({cut.cost(g) == kMaxNanos ? kNowhere : share(cut.cost(g), room),
                      free == kMaxNanos ? kNowhere : share(free, room)});
  }
  std::vector<int> order(p.num_groups);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](int g) { return cut.cost(g); });
  int seeds = 0;
  for (const int g : order) {
    if (shares[g].paying == kNowhere || shares[g].paying == 0) continue;
    if (seeds++ % kSeedsPerCheck == 0) {
      if (HasTooLittleRoom(shares, num_paying, num_free)) return true;
      if (stop()) return false;
    }
    const Nanos transfers = cut.LeastTransfers(g, room);
    shares[g].paying = transfers == kMaxNanos ? kNowhere : share(cut.cost(g), room - transfers);
  }
  return HasTooLittleRoom(shares, num_paying, num_free);
}

void ProveByCuts(const Problem& problem,
                 Nanos least,
                 Nanos known,
                 const std::function<bool()>& stop,
                 const std::function<void(Nanos)>& told) {
  Nanos most = known;
  while (most - least > most / kPrecision && !stop()) {
    const Nanos period = std::min(least + (most - least + 1) / 2, 2 * least);
    if (IsRefuted(problem, period, stop)) {
      least = period;
      told(least);
    } else {
      most = period - 1;
    }
  }
}

}  // namespace emplace
