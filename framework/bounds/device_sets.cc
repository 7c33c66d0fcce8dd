#include "framework/bounds/device_sets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/bounds/mip.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"

namespace emplace {
namespace {

using Value = std::int64_t;
using Set = std::vector<int>;  // groups

constexpr int kMostOpen = 32;                                    // items, two bits of a state each
constexpr std::size_t kMostStates = 2'000'000;                   // of all stages
constexpr std::size_t kFewLabels = 4096, kMostLabels = 500'000;  // of a stage
constexpr int kStepsOfPrice = 24;
constexpr double kOne = 0x1p50;    // integer value of 1
constexpr double kMostValue = 1;   // of a group
constexpr int kMostGroups = 1000;  // so that sums of values stay below 2^61
constexpr Value kSlack = 5000;     // smaller improvements of a set, by this share, are not sought
constexpr std::size_t kSetsPerRound = 8;
// Values are sought around the best ones so far: relative to a group's share of all costs.
constexpr double kFirstWidth = 0.3, kLeastWidth = 0.01, kWholeWidth = 1000;
constexpr int kMostIdleRounds = 30;         // without better values
constexpr Nanos kLongest = Nanos{1} << 46;  // likewise of loads
constexpr Nanos kFirstSteps = 8, kStepsOfBisection = 2000;

// An item whose transfer costs a device of the class something.
struct PaidItem {
  int maker;
  std::vector<int> pins;  // groups, the maker included
  Nanos in, out;          // least [ns]
};

// The devices of one class, and the costs of their sets.
struct EqualDevices {
  int count = 0;
  std::vector<Nanos> cost;  // [num_groups]; kMaxNanos: not allowed
  std::vector<PaidItem> items;

  Nanos Load(const std::vector<char>& within) const {
    Nanos load = 0;
    for (std::size_t g = 0; g < cost.size(); ++g) load += within[g] ? cost[g] : 0;
    for (const PaidItem& item : items) {
      const bool made = within[item.maker];
      const bool crosses =
          std::ranges::any_of(item.pins, [&](int g) { return bool(within[g]) != made; });
      if (crosses) load += made ? item.out : item.in;
    }
    return load;
  }
};

// @param most  costs and times from here on are alike [ns]
std::vector<EqualDevices> ClassesOf(const CompiledPeriod& p, Nanos most) {
  const std::vector<int> first = InterchangeableDevices(p);
  std::vector<EqualDevices> classes;
  for (int d = 0; d < p.num_devices; ++d) {
    if (first[d] != d) continue;
    EqualDevices one;
    one.count = static_cast<int>(std::ranges::count(first, d));
    for (int g = 0; g < p.num_groups; ++g) {
      const Nanos cost = p.problem.group_cost(g, d);
      one.cost.push_back(p.problem.allowed(g, d) && cost < most ? cost : kMaxNanos);
    }
    for (int i = 0; i < p.num_items && p.pays[d] != 0; ++i) {
      const ItemTimes times(p, i);
      const Nanos in = times.Range([&](int, int to) { return first[to] == d; }).first;
      const Nanos out = times.Range([&](int from, int) { return first[from] == d; }).first;
      if (in == 0 && out == 0) continue;
      PaidItem item{p.maker[i], {p.maker[i]}, std::min(in, most), std::min(out, most)};
      for (const int reader : p.readers_of(i)) item.pins.push_back(reader);
      std::ranges::sort(item.pins);
      const auto same = std::ranges::find_if(one.items, [&](const PaidItem& other) {
        return other.maker == item.maker && other.pins == item.pins;
      });
      if (same == one.items.end()) {
        one.items.push_back(std::move(item));
      } else {
        same->in = std::min(same->in + in, most);
        same->out = std::min(same->out + out, most);
      }
    }
    classes.push_back(std::move(one));
  }
  return classes;
}

// Leaves out the cheapest fifth of the items, which makes loads smaller.
void DropCheapest(EqualDevices& devices) {
  std::ranges::stable_sort(
      devices.items, std::greater{}, [](const PaidItem& item) { return item.in + item.out; });
  devices.items.resize(devices.items.size() * 4 / 5);
}

// Returns an order of the groups in which few items are open: next comes the group that opens the
// fewest and closes the most, of equal ones the first.
std::vector<int> OrderOf(const EqualDevices& devices) {
  const int n = static_cast<int>(devices.cost.size());
  std::vector<std::vector<int>> items_of(n);
  std::vector<int> left;
  for (std::size_t i = 0; i < devices.items.size(); ++i) {
    for (const int g : devices.items[i].pins) items_of[g].push_back(static_cast<int>(i));
    left.push_back(static_cast<int>(devices.items[i].pins.size()));
  }
  std::vector<char> done(n, 0), open(devices.items.size(), 0);
  std::vector<int> order;
  while (static_cast<int>(order.size()) < n) {
    int best = -1, least = 0;
    for (int g = 0; g < n; ++g) {
      if (done[g]) continue;
      int change = 0;
      for (const int i : items_of[g]) change += (open[i] ? 0 : 2) - (left[i] == 1 ? 2 : 0);
      const bool touches = std::ranges::any_of(items_of[g], [&](int i) { return open[i]; });
      if (touches) --change;  // of equal groups, a neighbour of those before
      if (best < 0 || change < least) {
        best = g;
        least = change;
      }
    }
    done[best] = 1;
    order.push_back(best);
    for (const int i : items_of[best]) {
      open[i] = 1;
      --left[i];
    }
  }
  return order;
}

// The states and transitions of the dynamic program of one class.
class SetProgramme {
 public:
  /// @param most  loads from here on are not wanted [ns]
  SetProgramme(const EqualDevices& devices, Nanos most) : devices_(&devices) {
    order_ = OrderOf(devices);
    usable_ = Build(most);
  }
  bool usable() const { return usable_; }
  const std::vector<int>& order() const { return order_; }

  struct Best {
    Value value = 0;        // no set within the period has a larger value
    std::vector<Set> sets;  // of more than the threshold
  };

  /// Searches for sets within the period whose value is above the threshold by more than a share of
  /// it. Keeps few labels at first, more if it finds none.
  /// @return nothing if `stop`
  std::optional<Best> Find(std::span<const Value> value,
                           Nanos period,
                           Value threshold,
                           const std::function<bool()>& stop) {
    threshold += threshold / kSlack;
    const Value price = LeastPrice(value, period);
    if (Relax(value, price) + price * period <= threshold) return Best{threshold, {}};
    for (std::size_t most = kFewLabels;; most *= 8) {
      std::optional<Best> best = Search(value, period, threshold, price, most, stop);
      if (!best || !best->sets.empty() || best->value <= threshold || most > kMostLabels) {
        return best;
      }
    }
  }

 private:
  struct Arc {
    int to = -1;       // state of the next stage; -1: none
    Nanos charge = 0;  // of items that are now known to cross
  };
  struct Pin {  // of a group in an item
    int slot;
    bool first, last, maker, maker_seen;
    Nanos in, out;
  };

  struct Label {
    Nanos load;
    Value value;
    Value reach;  // no set that continues it has a larger value
    int node;
    bool taken;
  };

  // @param most  labels that a stage keeps, those of largest reach
  std::optional<Best> Search(std::span<const Value> value,
                             Nanos period,
                             Value threshold,
                             Value price,
                             std::size_t most,
                             const std::function<bool()>& stop) {
    nodes_.clear();
    std::vector<std::vector<Label>> now(1, {{0, 0, 0, -1, false}}), next;
    std::vector<Value> reaches;
    Value dropped = threshold;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      if (stop()) return std::nullopt;
      const int g = order_[s];
      next.assign(begin_[s + 2] - begin_[s + 1], {});
      for (std::size_t k = 0; k < now.size(); ++k) {
        for (const bool in : {false, true}) {
          const Arc& arc = arcs_[begin_[s] + k][in];
          if (arc.to < 0) continue;
          const Nanos load = arc.charge + (in ? devices_->cost[g] : 0);
          const Value more = in ? value[g] : 0;
          const Value rest = relaxed_[begin_[s + 1] + arc.to] + price * period;
          for (const Label& label : now[k]) {
            Label then{label.load + load, label.value + more, 0, label.node, in};
            then.reach = then.value - price * then.load + rest;
            if (then.load <= period && then.reach > threshold) next[arc.to].push_back(then);
          }
        }
      }
      reaches.clear();
      for (std::vector<Label>& list : next) {
        DropWorse(list);
        for (const Label& label : list) reaches.push_back(label.reach);
      }
      Value least = threshold;
      if (reaches.size() > most) {
        std::ranges::nth_element(reaches, reaches.begin() + most, std::greater{});
        least = reaches[most];
        dropped = std::max(dropped, least);
      }
      for (std::vector<Label>& list : next) {
        std::erase_if(list, [&](const Label& label) { return label.reach <= least; });
        for (Label& label : list) {
          if (!label.taken) continue;
          nodes_.emplace_back(label.node, g);
          label.node = static_cast<int>(nodes_.size()) - 1;
        }
      }
      std::swap(now, next);
    }
    Best best{dropped, {}};
    std::ranges::reverse(now[0]);  // the largest value first
    for (const Label& label : now[0]) {
      if (best.sets.size() == kSetsPerRound) break;
      best.value = std::max(best.value, label.value);
      best.sets.emplace_back();
      for (int at = label.node; at >= 0; at = nodes_[at].first) {
        best.sets.back().push_back(nodes_[at].second);
      }
    }
    return best;
  }

  // Sorts labels of one state by load, and keeps those whose value is larger than all before.
  static void DropWorse(std::vector<Label>& list) {
    std::ranges::sort(list, [](const Label& a, const Label& b) {
      return a.load != b.load ? a.load < b.load : a.value > b.value;
    });
    std::size_t kept = 0;
    for (const Label& label : list) {
      if (kept == 0 || label.value > list[kept - 1].value) list[kept++] = label;
    }
    list.resize(kept);
  }

  bool Build(Nanos most) {
    const int n = static_cast<int>(order_.size());
    std::vector<int> place(n);
    for (int s = 0; s < n; ++s) place[order_[s]] = s;
    std::vector<std::vector<std::pair<std::size_t, Pin>>> pins(n);
    for (std::size_t i = 0; i < devices_->items.size(); ++i) {
      const PaidItem& item = devices_->items[i];
      const auto [first, last] =
          std::ranges::minmax(item.pins, {}, [&](int g) { return place[g]; });
      for (const int g : item.pins) {
        pins[place[g]].push_back({i,
                                  {.slot = -1,
                                   .first = g == first,
                                   .last = g == last,
                                   .maker = g == item.maker,
                                   .maker_seen = place[item.maker] < place[g],
                                   .in = item.in,
                                   .out = item.out}});
      }
    }
    std::vector<int> slot_of(devices_->items.size(), -1);
    std::uint64_t used = 0;
    for (int s = 0; s < n; ++s) {
      for (auto& [item, pin] : pins[s]) {
        if (pin.first) {
          int slot = 0;
          while (slot < kMostOpen && (used >> slot & 1)) ++slot;
          if (slot == kMostOpen) return false;
          used |= std::uint64_t{1} << slot;
          slot_of[item] = slot;
        }
        pin.slot = slot_of[item];
      }
      for (const auto& [item, pin] : pins[s]) {
        if (pin.last) used &= ~(std::uint64_t{1} << pin.slot);
      }
    }
    std::vector<std::uint64_t> keys{0}, next;
    std::vector<Nanos> paid{0}, next_paid;  // least charges up to a state
    begin_ = {0, 1};
    for (int s = 0; s < n; ++s) {
      const int g = order_[s];
      next.clear();
      next_paid.clear();
      std::unordered_map<std::uint64_t, int> index;
      for (std::size_t k = 0; k < keys.size(); ++k) {
        arcs_.emplace_back();
        for (const bool in : {false, true}) {
          if (in && devices_->cost[g] >= kMaxNanos) continue;
          Nanos charge = 0;
          std::uint64_t key = keys[k];
          for (const auto& [item, pin] : pins[s]) charge += Enter(pin, in, key);
          if (paid[k] + charge >= most) continue;
          const auto [at, fresh] = index.try_emplace(key, static_cast<int>(next.size()));
          if (fresh) {
            next.push_back(key);
            next_paid.push_back(paid[k] + charge);
          }
          next_paid[at->second] = std::min(next_paid[at->second], paid[k] + charge);
          arcs_.back()[in] = {at->second, charge};
        }
      }
      std::swap(keys, next);
      std::swap(paid, next_paid);
      begin_.push_back(begin_.back() + keys.size());
      if (begin_.back() > kMostStates) return false;
    }
    relaxed_.resize(begin_.back());
    return true;
  }

  // Puts a group of an item on a side. Returns the cost of the item if it crosses from now on, else
  // 0.
  static Nanos Enter(const Pin& pin, bool in, std::uint64_t& key) {
    constexpr std::uint64_t kPaid = 0, kIn = 1, kOut = 2;
    const std::uint64_t side = in ? kIn : kOut, before = key >> 2 * pin.slot & 3;
    key &= ~(std::uint64_t{3} << 2 * pin.slot);
    std::uint64_t after = pin.first ? side : before;
    Nanos charge = 0;
    if (!pin.first && before != kPaid && before != side) {
      after = kPaid;
      const bool made_within = pin.maker ? in : before == kIn;
      charge = pin.maker || pin.maker_seen ? (made_within ? pin.out : pin.in)
                                           : std::min(pin.in, pin.out);
    }
    if (!pin.last) key |= after << 2 * pin.slot;
    return charge;
  }

  // Computes for every state the largest value minus price times load that the groups after it add.
  // @return that of the first state
  Value Relax(std::span<const Value> value, Value price) {
    relaxed_.back() = 0;
    for (std::size_t s = order_.size(); s-- > 0;) {
      const int g = order_[s];
      const Value gain = devices_->cost[g] < kMaxNanos ? value[g] - price * devices_->cost[g] : 0;
      for (std::size_t state = begin_[s]; state < begin_[s + 1]; ++state) {
        Value best = kNothing;
        for (const bool in : {false, true}) {
          const Arc& arc = arcs_[state][in];
          if (arc.to < 0) continue;
          best = std::max(best,
                          relaxed_[begin_[s + 1] + arc.to] - price * arc.charge + (in ? gain : 0));
        }
        relaxed_[state] = std::max(best, kNothing);
      }
    }
    return relaxed_[0];
  }

  // Returns about the price of load for which Relax() bounds the value of a set best.
  Value LeastPrice(std::span<const Value> value, Nanos period) {
    // Prices from zero to one at which no group is worth its load, or arithmetic would overflow.
    double low = 0, high = 0;
    double whole = double(period);
    for (std::size_t g = 0; g < value.size(); ++g) {
      const Nanos cost = devices_->cost[g];
      if (cost >= kMaxNanos) continue;
      whole += double(cost);
      high = std::max(high, double(value[g]) / double(std::max<Nanos>(cost, 1)));
    }
    for (const PaidItem& item : devices_->items) whole += double(item.in + item.out);
    high = std::min(high, 0x1p60 / whole);
    const auto bound = [&](double price) {
      return Relax(value, Value(price)) + Value(price) * period;
    };
    // Golden section; the bound is convex in the price.
    const double golden = (std::sqrt(5.0) - 1) / 2;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    Value at_a = bound(a), at_b = bound(b);
    for (int step = 0; step < kStepsOfPrice && high - low > 1; ++step) {
      if (at_a <= at_b) {
        high = b;
        b = a;
        at_b = at_a;
        a = high - golden * (high - low);
        at_a = bound(a);
      } else {
        low = a;
        a = b;
        at_a = at_b;
        b = low + golden * (high - low);
        at_b = bound(b);
      }
    }
    return Value(at_a <= at_b ? a : b);
  }

  static constexpr Value kNothing = -(Value{1} << 61);  // less than any value that can be reached

  const EqualDevices* devices_;
  std::vector<int> order_;
  bool usable_ = false;
  std::vector<std::size_t> begin_;          // [num_groups + 2] first state of a stage
  std::vector<std::array<Arc, 2>> arcs_;    // [states but the last] group out, in
  std::vector<Value> relaxed_;              // [states]
  std::vector<std::pair<int, int>> nodes_;  // of labels: node before, group
};

class SetsProof {
 public:
  SetsProof(const CompiledPeriod& p, Nanos known, const std::function<bool()>& stop)
      : num_groups_(p.num_groups), stop_(stop) {
    if (num_groups_ > kMostGroups || known > kLongest) return;
    classes_ = ClassesOf(p, known);
    for (EqualDevices& one : classes_) {
      programmes_.emplace_back(one, known);
      while (!programmes_.back().usable()) {
        if (stop_()) return;
        DropCheapest(one);
        programmes_.back() = SetProgramme(one, known);
      }
    }
    sets_.resize(classes_.size());
    usable_ = true;
  }
  bool usable() const { return usable_; }

  enum class Result { kRefuted, kNotRefuted, kStopped };

  // Tries to prove that no placement has a period of at most `period`.
  Result Refute(Nanos period) {
    AddFirstSets(period);
    LinearModel model = Programme(period);
    const std::vector<double> shares = CostShares(period);
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / num_groups_;
    std::optional<Separated> found = Separate(shares, period, model);
    if (!found) return Result::kStopped;
    LinearProgramme solver(model);
    std::vector<double> centre = found->normalised;
    double best = found->bound, width = kFirstWidth;
    for (int idle = 0; best <= 1; ++idle) {
      if (idle == kMostIdleRounds) return Result::kNotRefuted;
      for (int g = 0; g < num_groups_; ++g) {
        const double reach = width < kWholeWidth ? width * (shares[g] + mean) : 2 * kMostValue;
        solver.SetBounds(
            g, std::max(-kMostValue, centre[g] - reach), std::min(kMostValue, centre[g] + reach));
      }
      if (solver.Solve(stop_) != LinearProgramme::Status::kOptimal) return Result::kStopped;
      const std::span<const double> values = solver.solution().first(num_groups_);
      constexpr double kNearOne = 1e-7;
      if (std::accumulate(values.begin(), values.end(), 0.0) <= 1 + kNearOne) {
        if (width >= kWholeWidth) return Result::kNotRefuted;
        width *= 4;
        continue;
      }
      const int rows = model.num_rows();
      found = Separate(values, period, model);
      if (!found) return Result::kStopped;
      if (found->bound > best) {
        best = found->bound;
        centre = found->normalised;
        width *= 1.5;
        idle = 0;
      } else {
        width = std::max(0.7 * width, kLeastWidth);
      }
      if (model.num_rows() == rows) return Result::kNotRefuted;  // within rounding
      solver.AddRows(model);
    }
    return Result::kRefuted;
  }

 private:
  struct Known {
    Set groups;
    Nanos load;
  };

  // Returns values that prove the bound of the work: the share of each group in the time of all
  // devices, by its least cost.
  std::vector<double> CostShares(Nanos period) const {
    std::vector<double> shares;
    int count = 0;
    for (const EqualDevices& one : classes_) count += one.count;
    for (int g = 0; g < num_groups_; ++g) {
      Nanos least = kMaxNanos;
      for (const EqualDevices& one : classes_) least = std::min(least, one.cost[g]);
      shares.push_back(
          std::min(kMostValue, static_cast<double>(least) / static_cast<double>(period) / count));
    }
    return shares;
  }

  // Adds single groups and runs of the order, as long as they fit.
  void AddFirstSets(Nanos period) {
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      const std::vector<int>& order = programmes_[k].order();
      for (std::size_t s = 0; s < order.size(); ++s) {
        if (stop_()) return;
        std::vector<char> within(num_groups_, 0);
        Set groups, longest;
        Nanos cost = 0;
        for (std::size_t e = s; e < order.size(); ++e) {
          if (classes_[k].cost[order[e]] >= kMaxNanos) break;
          cost += classes_[k].cost[order[e]];
          if (cost > period) break;
          within[order[e]] = 1;
          groups.push_back(order[e]);
          if (e == s || 2 * cost > period) {
            if (classes_[k].Load(within) <= period) longest = groups;
          }
        }
        if (!longest.empty()) Add(k, std::move(longest));
      }
    }
  }

  void Add(std::size_t k, Set groups) {
    std::ranges::sort(groups);
    std::vector<char> within(num_groups_, 0);
    for (const int g : groups) within[g] = 1;
    const Nanos load = classes_[k].Load(within);
    const bool is_known = std::ranges::any_of(
        sets_[k], [&](const Known& set) { return set.load == load && set.groups == groups; });
    if (!is_known) sets_[k].push_back({std::move(groups), load});
  }

  // Columns are the values of groups, then of classes; rows say that no set is worth more than its
  // class.
  LinearModel Programme(Nanos period) const {
    LinearModel model;
    for (int g = 0; g < num_groups_; ++g) model.AddColumn(-1, -kMostValue, kMostValue);
    std::vector<std::pair<int, double>> row;
    for (const EqualDevices& one : classes_) {
      row.emplace_back(model.AddColumn(0, 0, 1), one.count);
    }
    model.AddRow(1, 1, row);
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      for (const Known& set : sets_[k]) {
        if (set.load <= period) AddRow(k, set.groups, model);
      }
    }
    return model;
  }

  void AddRow(std::size_t k, const Set& groups, LinearModel& model) const {
    std::vector<std::pair<int, double>> row;
    for (const int g : groups) row.emplace_back(g, -1);
    row.emplace_back(num_groups_ + static_cast<int>(k), 1);
    model.AddRow(0, kNoLimit, row);
  }

  struct Separated {
    double bound = 0;                // more than 1: the period is refuted
    std::vector<double> normalised;  // values of which all devices together can have 1
  };

  // Finds sets that are worth more than all known ones, and adds their rows.
  // @return nothing if stopped
  std::optional<Separated> Separate(std::span<const double> values,
                                    Nanos period,
                                    LinearModel& model) {
    std::vector<Value> value;
    Value sum = 0;
    for (const double v : values) {
      value.push_back(std::llround(v * kOne));
      sum += value.back();
    }
    __int128 room = 0;  // largest value of all devices together
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      Value threshold = 0;
      for (const Known& set : sets_[k]) {
        if (set.load > period) continue;
        Value total = 0;
        for (const int g : set.groups) total += value[g];
        threshold = std::max(threshold, total);
      }
      std::optional<SetProgramme::Best> best = programmes_[k].Find(value, period, threshold, stop_);
      if (!best) return std::nullopt;
      room += static_cast<__int128>(classes_[k].count) * best->value;
      for (Set& groups : best->sets) {
        AddRow(k, groups, model);
        Add(k, std::move(groups));
      }
    }
    Separated result{.normalised = {values.begin(), values.end()}};
    if (room == 0) {  // no group fits
      result.bound = sum > 0 ? 2 : 0;
      return result;
    }
    const double scale = kOne / static_cast<double>(room);
    result.bound = static_cast<double>(sum) / static_cast<double>(room);
    // The comparison is exact; the division is rounded.
    result.bound = sum > room ? std::max(result.bound, 1 + 1e-12) : std::min(result.bound, 1.0);
    for (double& v : result.normalised) v *= scale;
    return result;
  }

  int num_groups_;
  const std::function<bool()>& stop_;
  std::vector<EqualDevices> classes_;
  std::vector<SetProgramme> programmes_;  // [classes]
  std::vector<std::vector<Known>> sets_;  // [classes] that are known
  bool usable_ = false;
};

}  // namespace

void ProveByDeviceSets(const CompiledPeriod& problem,
                       Nanos least,
                       Nanos known,
                       const std::function<bool()>& stop,
                       const std::function<void(Nanos)>& told) {
  if (least >= known) return;
  SetsProof proof(problem, known, stop);
  if (!proof.usable()) return;
  Nanos high = known;  // not refuted from here on
  Nanos step = std::max<Nanos>(1, (high - least) / kFirstSteps);
  while (least < high && !stop()) {
    const bool fine = high - least <= least / kStepsOfBisection;
    if (fine && high < known) return;
    const Nanos period = fine ? known - 1 : std::min(least + step, high - 1);
    switch (proof.Refute(period)) {
      case SetsProof::Result::kStopped:
        return;
      case SetsProof::Result::kRefuted:
        least = period + 1;
        told(least);
        step *= 2;
        break;
      case SetsProof::Result::kNotRefuted:
        high = period;
        break;
    }
    step = std::min(step, std::max<Nanos>(1, (high - least) / 2));
  }
}

}  // namespace emplace
