#include "agents/max_load_dp/chain_split.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agents/max_load_dp/lattice.h"
#include "agents/shared/devices.h"

namespace emplace {
namespace {

constexpr int kMostStates = 1024;  // sets of used devices, as numbers of devices per class
constexpr double kNever = std::numeric_limits<double>::infinity();

/// The dynamic program over a lattice.
class SplitProgramme {
 public:
  SplitProgramme(const CompiledPeriod& p,
                 const Lattice& lattice,
                 std::uint64_t devices,
                 bool memory)
      : p_(p), lattice_(lattice), devices_(devices), memory_(memory) {
    SetClasses();
    SetStates();
    in_piece_.assign(p.num_items + p.num_inputs, 0);
    cost_.assign(num_classes(), 0);
    transfers_.assign(num_classes(), 0);
    seen_.assign(lattice.below.size(), -1);
    const std::size_t cells = lattice.below.size() * num_states_;
    value_.assign(cells, kNever);
    from_.assign(cells, {});
    value_[0] = 0;
  }

  /// Finds the best split.
  /// @param limit  splits of this period or more are discarded [ns]
  /// @return whether there is a split
  bool Solve(double limit, const Interrupt& interrupt) {
    limit_ = limit;
    for (std::size_t ideal = 1; ideal < lattice_.below.size(); ++ideal) {
      interrupt.Check();
      upper_ = static_cast<int>(ideal);
      Visit(upper_);
    }
    const auto values = value_.end() - static_cast<std::ptrdiff_t>(num_states_);
    best_ = std::min_element(values, value_.end());
    return value() < kNever;
  }
  double value() const { return *best_; }
  Placement placement() const {
    int ideal = static_cast<int>(lattice_.below.size()) - 1;
    int state = static_cast<int>((best_ - value_.begin()) - ideal * std::ptrdiff_t(num_states_));
    Placement placement;
    placement.device.assign(p_.num_groups, 0);
    std::vector<int> used(num_classes(), 0);
    while (ideal > 0) {
      const From from = from_[ideal * num_states_ + state];
      const int device = classes_[from.device_class].devices[used[from.device_class]++];
      for (const int element : Between(ideal, from.ideal)) {
        for (const int group : lattice_.elements[element]) {
          placement.device[group] = static_cast<DeviceIndex>(device);
        }
      }
      ideal = from.ideal;
      state = from.state;
    }
    return placement;
  }

 private:
  struct DeviceClass {
    std::vector<int> devices;
    std::int64_t memory;
    std::vector<double> time;  // [num_items] transfer time paid by a piece there [ns]
  };
  struct From {
    int ideal = -1, state = -1, device_class = -1;
  };
  struct Transition {
    int from, to, device_class;
  };

  int num_classes() const { return static_cast<int>(classes_.size()); }

  void SetClasses() {
    const Cluster& cluster = p_.problem.cluster();
    std::map<std::pair<int, std::int64_t>, int> class_of;
    for (int d = 0; d < p_.num_devices; ++d) {
      if ((devices_ >> d & 1) == 0) continue;
      const std::pair key{cluster.device(d).kind, p_.memory[d]};
      const auto [entry, added] = class_of.try_emplace(key, num_classes());
      if (added) classes_.push_back({{}, p_.memory[d], {}});
      classes_[entry->second].devices.push_back(d);
    }
    // Too many sets: each device is its own class, and the devices are used in their order.
    num_states_ = 1;
    for (const DeviceClass& one : classes_) {
      num_states_ = std::min<std::size_t>(num_states_ * (one.devices.size() + 1), kMostStates + 1);
    }
    in_order_ = num_states_ > kMostStates;
    if (in_order_) {
      classes_.clear();
      for (int d = 0; d < p_.num_devices; ++d) {
        if (devices_ >> d & 1) classes_.push_back({{d}, p_.memory[d], {}});
      }
    }
    for (DeviceClass& one : classes_) {
      one.time.assign(p_.num_items, 0);
      double pairs = 0;
      std::vector<double> path_share(p_.num_paths, 0);
      for (const int d : one.devices) {
        for (int e = 0; e < p_.num_devices; ++e) {
          if (d == e || p_.pays[d] == 0) continue;
          path_share[p_.path[d * p_.num_devices + e]] += 1;
          path_share[p_.path[e * p_.num_devices + d]] += 1;
          pairs += 2;
        }
      }
      for (int item = 0; item < p_.num_items && pairs > 0; ++item) {
        for (int path = 0; path < p_.num_paths; ++path) {
          if (path_share[path] == 0) continue;
          one.time[item] += path_share[path] / pairs *
                            static_cast<double>(p_.transfer_time[p_.times[item] + path]);
        }
      }
    }
  }

  // Sets the states: the numbers of used devices of all classes in mixed radix. If the devices are
  // used in order, a state is the number of devices that are done.
  void SetStates() {
    if (in_order_) {
      num_states_ = classes_.size() + 1;
      for (int from = 0; from < num_classes(); ++from) {
        for (int d = from; d < num_classes(); ++d) transitions_.push_back({from, d + 1, d});
      }
      return;
    }
    for (int state = 0; state < static_cast<int>(num_states_); ++state) {
      int step = 1, rest = state;
      for (int c = 0; c < num_classes(); ++c) {
        const int radix = static_cast<int>(classes_[c].devices.size()) + 1;
        if (rest % radix + 1 < radix) transitions_.push_back({state, state + step, c});
        rest /= radix;
        step *= radix;
      }
    }
  }

  // Adds a group to the piece or removes it.
  void Toggle(int group, int sign) {
    for (int c = 0; c < num_classes(); ++c) {
      cost_[c] += sign * p_.problem.group_cost(group, classes_[c].devices[0]);
    }
    bytes_ += sign * p_.bytes[group];
    const auto pin = [&](int item) {
      const int pins = static_cast<int>(p_.readers_of(item).size()) + 1;
      const bool was_cut = in_piece_[item] > 0 && in_piece_[item] < pins;
      in_piece_[item] += sign;
      const bool is_cut = in_piece_[item] > 0 && in_piece_[item] < pins;
      if (was_cut == is_cut) return;
      for (int c = 0; c < num_classes(); ++c) {
        transfers_[c] += (is_cut ? 1 : -1) * classes_[c].time[item];
      }
    };
    for (int i = p_.made_begin[group]; i < p_.made_begin[group + 1]; ++i) pin(i);
    for (const int item : p_.read_by(group)) {
      if (item < p_.num_items) {
        pin(item);
        continue;
      }
      in_piece_[item] += sign;
      if (in_piece_[item] == (sign > 0 ? 1 : 0))
        bytes_ += sign * p_.input_bytes[item - p_.num_items];
    }
  }

  // Tries the piece, upper_ without `lower`, and all larger pieces on every class.
  void Visit(int lower) {
    seen_[lower] = upper_;
    if (lower != upper_) Extend(lower);
    for (const auto& [element, ideal] : lattice_.below[lower]) {
      if (seen_[ideal] == upper_) continue;
      for (const int group : lattice_.elements[element]) Toggle(group, 1);
      if (static_cast<double>(*std::ranges::min_element(cost_)) < limit_) Visit(ideal);
      for (const int group : lattice_.elements[element]) Toggle(group, -1);
    }
  }

  void Extend(int lower) {
    const double* const below = &value_[lower * num_states_];
    double* const above = &value_[upper_ * num_states_];
    From* const from = &from_[upper_ * num_states_];
    for (const Transition& transition : transitions_) {
      const int c = transition.device_class;
      if (memory_ && bytes_ > classes_[c].memory) continue;
      const double load = static_cast<double>(cost_[c]) + transfers_[c];
      const double value = std::max(below[transition.from], load);
      if (value >= limit_ || value >= above[transition.to]) continue;
      above[transition.to] = value;
      from[transition.to] = {lower, transition.from, c};
    }
  }

  // Returns the elements on a path down from `upper` to `lower`.
  std::vector<int> Between(int upper, int lower) const {
    // Ideals are ordered by size, so that no path down skips `lower`.
    std::vector<int> elements;
    std::vector<bool> dead(upper + 1, false);
    std::vector<std::pair<int, std::size_t>> way{{upper, 0}};
    while (way.back().first != lower) {
      auto& [ideal, next] = way.back();
      const auto& below = lattice_.below[ideal];
      while (next < below.size() && (below[next].ideal < lower || dead[below[next].ideal])) ++next;
      if (next == below.size()) {
        dead[ideal] = true;
        way.pop_back();
        elements.pop_back();
        continue;
      }
      elements.push_back(below[next].element);
      way.emplace_back(below[next].ideal, 0);
    }
    return elements;
  }

  const CompiledPeriod& p_;
  const Lattice& lattice_;
  std::uint64_t devices_;
  bool memory_;
  bool in_order_ = false;
  std::vector<DeviceClass> classes_;
  std::size_t num_states_ = 1;
  std::vector<Transition> transitions_;
  double limit_ = kNever;
  int upper_ = 0;
  // State of the current piece.
  std::vector<int> in_piece_;      // [num_items + num_inputs] pins
  std::vector<Nanos> cost_;        // [classes] of the ops [ns]
  std::vector<double> transfers_;  // [classes] [ns]
  std::int64_t bytes_ = 0;
  // [ideals, states] smallest period, and the last piece that attains it.
  std::vector<double> value_;
  std::vector<double>::const_iterator best_;
  std::vector<From> from_;
  std::vector<int> seen_;  // [ideals] the last ideal from which it was visited
};

/// Places the groups that are in no piece, in descending order of cost: each on the device that
/// minimises the period, then the sum of the loads.
void PlaceOthers(const CompiledPeriod& problem, std::uint64_t devices, Placement& placement) {
  std::vector<int> others;
  const auto cost = [&](int g) { return MeanCost(problem.problem, g, ~std::uint64_t{0}); };
  for (int group = 0; group < problem.num_groups; ++group) {
    if ((devices & ~problem.problem.allowed_devices(group)) == 0) continue;
    others.push_back(group);
    const int first = FirstDevice(problem.problem.allowed_devices(group));
    placement.device[group] = static_cast<DeviceIndex>(first);
  }
  std::ranges::stable_sort(others, std::greater{}, cost);
  PeriodState state(problem);
  state.SetTo(placement.device);
  for (const int group : others) {
    Move best{group, state.device()[group]};
    std::pair least{kMaxNanos, kMaxNanos};
    for (int d = 0; d < problem.num_devices; ++d) {
      if (!problem.problem.allowed(group, d)) continue;
      const Move move{group, static_cast<DeviceIndex>(d)};
      const PeriodTotals& totals = state.Try({&move, 1});
      const Nanos sum = std::accumulate(totals.load.begin(), totals.load.end(), Nanos{0});
      if (std::pair{totals.period(), sum} < least) {
        least = {totals.period(), sum};
        best = move;
      }
      state.Undo();
    }
    state.Try({&best, 1});
    state.Keep();
  }
  placement.device = state.device();
}

}  // namespace

SplitOfGroups Split(const CompiledPeriod& problem, int max_ideals, const Interrupt& interrupt) {
  const std::uint64_t devices = SharedDevices(problem.problem);
  const std::vector<int> order = OrderByPlace(problem.problem, devices);
  const Lattice chain = ChainLattice(problem.problem, order);
  SplitOfGroups split;
  double limit = kNever;
  for (const bool memory : {true, false}) {
    SplitProgramme programme(problem, chain, devices, memory);
    if (!programme.Solve(kNever, interrupt)) continue;
    split.placement = programme.placement();
    if (memory) limit = programme.value() * (1 + 1e-9) + 1;
    break;
  }
  const std::optional<Lattice> ideals =
      max_ideals == 0 ? std::nullopt : IdealLattice(problem, order, max_ideals, interrupt);
  if (ideals.has_value()) {
    split.num_ideals = static_cast<int>(ideals->below.size());
    SplitProgramme programme(problem, *ideals, devices, true);
    if (programme.Solve(limit, interrupt)) split.placement = programme.placement();
  }
  PlaceOthers(problem, devices, split.placement);
  return split;
}

}  // namespace emplace
