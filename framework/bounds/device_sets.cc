#include "framework/bounds/device_sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "framework/bounds/mip.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"
#include "framework/bounds/set_programme.h"

namespace emplace {
namespace {

constexpr double kOne = 0x1p50;    // integer value of 1
constexpr double kMostValue = 1;   // of a group
constexpr int kMostGroups = 1000;  // so that sums of values stay below 2^61
// Half of the box, by the share of a group and the mean share.
constexpr double kFirstWidth = 0.3, kLeastWidth = 0.01, kWholeWidth = 1000;
constexpr int kMostIdleRounds = 30;         // without better values
constexpr Nanos kLongest = Nanos{1} << 46;  // likewise of loads
constexpr Nanos kFirstSteps = 8, kStepsOfBisection = 2000;

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
    GroupSet groups;
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
        GroupSet groups, longest;
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

  void Add(std::size_t k, GroupSet groups) {
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

  void AddRow(std::size_t k, const GroupSet& groups, LinearModel& model) const {
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
    std::vector<SetValue> value;
    SetValue sum = 0;
    for (const double v : values) {
      value.push_back(std::llround(v * kOne));
      sum += value.back();
    }
    __int128 room = 0;  // largest value of all devices together
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      SetValue threshold = 0;
      for (const Known& set : sets_[k]) {
        if (set.load > period) continue;
        SetValue total = 0;
        for (const int g : set.groups) total += value[g];
        threshold = std::max(threshold, total);
      }
      std::optional<SetProgramme::Best> best = programmes_[k].Find(value, period, threshold, stop_);
      if (!best) return std::nullopt;
      room += static_cast<__int128>(classes_[k].count) * best->value;
      for (GroupSet& groups : best->sets) {
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
