#include "framework/bounds/set_programme.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace emplace {
namespace {

constexpr int kMostOpen = 32;                   // items, two bits of a state each
constexpr std::size_t kMostStates = 2'000'000;  // of all stages
constexpr std::size_t kQuickLabels = 512, kFewLabels = 4096, kMostLabels = 500'000;  // of a stage
constexpr int kStepsOfPrice = 24;
constexpr SetValue kSlack = 5000;  // smaller improvements of a set, by this share, are not sought
constexpr std::size_t kSetsPerRound = 8;

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

}  // namespace

SetProgramme::SetProgramme(const EqualDevices& devices,
                           Nanos most,
                           std::span<const PairDecision> pairs,
                           std::vector<int> order)
    : devices_(&devices), order_(order.empty() ? OrderOf(devices) : std::move(order)) {
  usable_ = Build(most, pairs);
}

std::optional<SetProgramme::Best> SetProgramme::Find(std::span<const SetValue> value,
                                                     Nanos period,
                                                     SetValue threshold,
                                                     bool quick,
                                                     const std::function<bool()>& stop) {
  threshold += threshold / kSlack;
  const SetValue price = LeastPrice(value, period);
  if (Relax(value, price) + price * period <= threshold) return Best{threshold, {}};
  if (quick) return Search(value, period, threshold, price, kQuickLabels, stop);
  for (std::size_t most = kFewLabels;; most *= 8) {
    std::optional<Best> best = Search(value, period, threshold, price, most, stop);
    if (!best || !best->sets.empty() || best->value <= threshold || most > kMostLabels) {
      return best;
    }
  }
}

std::optional<SetProgramme::Best> SetProgramme::Search(std::span<const SetValue> value,
                                                       Nanos period,
                                                       SetValue threshold,
                                                       SetValue price,
                                                       std::size_t most,
                                                       const std::function<bool()>& stop) {
  nodes_.clear();
  std::vector<std::vector<Label>> now(1, {{0, 0, 0, -1, false}}), next;
  std::vector<SetValue> reaches;
  SetValue dropped = threshold;
  const auto lighter = [](const Label& a, const Label& b) {
    return a.load != b.load ? a.load < b.load : a.value > b.value;
  };
  for (std::size_t s = 0; s < order_.size(); ++s) {
    if (stop()) return std::nullopt;
    const int g = order_[s];
    next.assign(begin_[s + 2] - begin_[s + 1], {});
    for (std::size_t k = 0; k < now.size(); ++k) {
      for (const bool in : {false, true}) {
        const Arc& arc = arcs_[begin_[s] + k][in];
        if (arc.to < 0) continue;
        const Nanos load = arc.charge + (in ? devices_->cost[g] : 0);
        const SetValue more = in ? value[g] : 0;
        const SetValue rest = relaxed_[begin_[s + 1] + arc.to] + price * period;
        std::vector<Label>& list = next[arc.to];
        const std::size_t before = list.size();
        for (const Label& label : now[k]) {
          Label then{label.load + load, label.value + more, 0, label.node, in};
          then.reach = then.value - price * then.load + rest;
          if (then.load <= period && then.reach > threshold) list.push_back(then);
        }
        if (before > 0) std::ranges::inplace_merge(list, list.begin() + before, lighter);
      }
    }
    reaches.clear();
    for (std::vector<Label>& list : next) {
      DropWorse(list);
      for (const Label& label : list) reaches.push_back(label.reach);
    }
    SetValue least = threshold;
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

void SetProgramme::DropWorse(std::vector<Label>& list) {
  std::size_t kept = 0;
  for (const Label& label : list) {
    if (kept == 0 || label.value > list[kept - 1].value) list[kept++] = label;
  }
  list.resize(kept);
}

bool SetProgramme::Build(Nanos most, std::span<const PairDecision> pairs) {
  const int n = static_cast<int>(order_.size());
  std::vector<int> place(n);
  for (int s = 0; s < n; ++s) place[order_[s]] = s;
  std::vector<std::vector<std::pair<std::size_t, Pin>>> pins(n);
  for (std::size_t i = 0; i < devices_->items.size(); ++i) {
    const PaidItem& item = devices_->items[i];
    const auto [first, last] = std::ranges::minmax(item.pins, {}, [&](int g) { return place[g]; });
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
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    int a = pairs[i].first, b = pairs[i].second;
    if (place[a] > place[b]) std::swap(a, b);
    for (const int g : {a, b}) {
      pins[place[g]].push_back({devices_->items.size() + i,
                                {.slot = -1,
                                 .first = g == a,
                                 .last = g == b,
                                 .maker = g == a,
                                 .maker_seen = g == b,
                                 .in = most,
                                 .out = most,
                                 .apart = !pairs[i].together}});
    }
  }
  std::vector<int> slot_of(devices_->items.size() + pairs.size(), -1);
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

Nanos SetProgramme::Enter(const Pin& pin, bool in, std::uint64_t& key) {
  constexpr std::uint64_t kPaid = 0, kIn = 1, kOut = 2, kOwed = 3;
  const std::uint64_t side = in ? kIn : kOut, before = key >> 2 * pin.slot & 3;
  key &= ~(std::uint64_t{3} << 2 * pin.slot);
  std::uint64_t after = pin.first ? side : before;
  Nanos charge = 0;
  if (pin.apart) {
    charge = !pin.first && in && before == kIn ? pin.in : 0;
    after = in ? kIn : kPaid;
  } else if (!pin.first && before != kPaid && before != side) {
    const bool made_within = pin.maker ? in : before == kIn;
    const bool is_known = pin.maker || pin.maker_seen || pin.in == pin.out;
    after = is_known ? kPaid : kOwed;
    if (is_known) charge = made_within ? pin.out : pin.in;
  }
  if (!pin.last) key |= after << 2 * pin.slot;
  return charge;
}

SetValue SetProgramme::Relax(std::span<const SetValue> value, SetValue price) {
  relaxed_.back() = 0;
  for (std::size_t s = order_.size(); s-- > 0;) {
    const int g = order_[s];
    const SetValue gain = devices_->cost[g] < kMaxNanos ? value[g] - price * devices_->cost[g] : 0;
    for (std::size_t state = begin_[s]; state < begin_[s + 1]; ++state) {
      SetValue best = kNothing;
      for (const bool in : {false, true}) {
        const Arc& arc = arcs_[state][in];
        if (arc.to < 0) continue;
        best =
            std::max(best, relaxed_[begin_[s + 1] + arc.to] - price * arc.charge + (in ? gain : 0));
      }
      relaxed_[state] = std::max(best, kNothing);
    }
  }
  return relaxed_[0];
}

SetValue SetProgramme::LeastPrice(std::span<const SetValue> value, Nanos period) {
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
    return Relax(value, SetValue(price)) + SetValue(price) * period;
  };
  // Golden section; the bound is convex in the price.
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = high - golden * (high - low), b = low + golden * (high - low);
  SetValue at_a = bound(a), at_b = bound(b);
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
  return SetValue(at_a <= at_b ? a : b);
}

}  // namespace emplace
