#include "framework/bounds/period_programme.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "framework/bounds/device_cuts.h"
#include "framework/bounds/period_terms.h"
#include "framework/cost/costs.h"

namespace emplace {
namespace {

constexpr std::size_t kMostSeeds = 64;  // number of groups whose least transfers are computed

}  // namespace

std::vector<int> InterchangeableDevices(const CompiledPeriod& p) {
  const int n = p.num_devices;
  const auto alike = [&](int d, int e) {
    if (p.pays[d] != p.pays[e] || p.memory[d] != p.memory[e]) return false;
    if (p.path[d * n + e] != p.path[e * n + d]) return false;
    for (int f = 0; f < n; ++f) {
      if (f == d || f == e) continue;
      if (p.path[d * n + f] != p.path[e * n + f] || p.path[f * n + d] != p.path[f * n + e]) {
        return false;
      }
    }
    for (int g = 0; g < p.num_groups; ++g) {
      if (p.problem.group_cost(g, d) != p.problem.group_cost(g, e)) return false;
    }
    return true;
  };
  std::vector<int> first;
  for (int d = 0; d < n; ++d) {
    int e = 0;
    while (e < d && (first[e] != e || !alike(d, e))) ++e;
    first.push_back(e);
  }
  return first;
}

std::vector<int> ClassesOfEqualCosts(const CompiledPeriod& p) {
  const std::vector<int> label = DevicesOfEqualCosts(p.problem.costs());
  std::vector<int> first;
  for (int d = 0; d < p.num_devices; ++d) {
    int e = 0;
    while (label[e] != label[d] || p.pays[e] != p.pays[d]) ++e;
    first.push_back(e);
  }
  return first;
}

PeriodProgramme::PeriodProgramme(const CompiledPeriod& p,
                                 Nanos known,
                                 std::span<const int> class_of)
    : unit(static_cast<double>(known)), first_alike_(InterchangeableDevices(p)) {
  std::vector<std::vector<int>> classes;  // devices
  for (int d = 0; d < p.num_devices; ++d) {
    const int first = class_of.empty() ? d : class_of[d];
    const auto own =
        std::ranges::find_if(classes, [&](const auto& devices) { return devices[0] == first; });
    if (own == classes.end()) {
      classes.push_back({d});
    } else {
      own->push_back(d);
    }
  }
  const int num_classes = static_cast<int>(classes.size());
  const int period = model.AddColumn(1, 0, kMostPeriods);
  std::vector<std::vector<std::pair<int, double>>> load(num_classes), bytes(num_classes);
  std::vector<std::int64_t> most_bytes(num_classes, 0);
  std::vector<int> x(static_cast<std::size_t>(p.num_groups) * num_classes, -1);
  const auto in_units = [&](Nanos time) { return static_cast<double>(time) / unit; };
  for (int g = 0; g < p.num_groups; ++g) {
    columns.emplace_back();
    std::vector<std::pair<int, double>> one;
    Nanos dearest = 0;
    for (int k = 0; k < num_classes; ++k) {
      const int first = classes[k][0];
      const Nanos cost = p.problem.group_cost(g, first);
      if (cost >= known) continue;
      const int column = model.AddColumn(0, 0, 1);
      x[static_cast<std::size_t>(g) * num_classes + k] = column;
      device_.resize(column + 1, -1);
      device_[column] = first;
      columns[g].push_back(column);
      one.emplace_back(column, 1);
      load[k].emplace_back(column, -in_units(cost));
      bytes[k].emplace_back(column, static_cast<double>(p.bytes[g]));
      most_bytes[k] += p.bytes[g];
      dearest = std::max(dearest, cost);
    }
    model.AddRow(1, 1, one);
    weight.push_back(in_units(dearest));
  }
  // Adds the share of a group on a class to a row; adds nothing where the group may not run.
  const auto share = [&](int g, int k, double factor, std::vector<std::pair<int, double>>& row) {
    const int column = x[static_cast<std::size_t>(g) * num_classes + k];
    if (column >= 0) row.emplace_back(column, factor);
    return column >= 0;
  };
  std::vector<std::vector<std::pair<int, double>>> payments(num_classes);
  std::vector<std::pair<int, double>> row;
  // Adds a row per reader: column >= factor (x_a - x_b), where one of a and b is the maker.
  const auto cross = [&](int item, int column, double factor, int k, bool into) {
    for (const int reader : p.readers_of(item)) {
      row.assign(1, {column, 1});
      share(into ? reader : p.maker[item], k, -factor, row);
      share(into ? p.maker[item] : reader, k, factor, row);
      model.AddRow(0, kNoLimit, row);
    }
  };
  const auto add_payment = [&](int k, int column, double factor) {
    load[k].emplace_back(column, -factor);
    payments[k].emplace_back(column, factor);
  };
  // Of two classes one sends whenever the other receives: one column in [0, 1] for both ends.
  const auto send = [&](int item, int from) {
    const int to = 1 - from;
    const Nanos time = LeastTime(ItemTimes(p, item), classes[from], classes[to]);
    if (time == 0 || (p.pays[classes[0][0]] == 0 && p.pays[classes[1][0]] == 0)) return;
    const int sent = model.AddColumn(0, 0, 1);
    for (const int k : {from, to}) {
      if (p.pays[classes[k][0]] == 0) continue;
      add_payment(k, sent, in_units(time));
      weight[p.maker[item]] += in_units(time) / num_classes;
    }
    cross(item, sent, 1, from, false);
  };
  // Adds a column for the time, and if times differ, rows: time >= sum over e of times[e]
  // x_other(e) - most (1 - x_here).
  std::vector<Nanos> times(num_classes);  // between a class and each other one
  const auto pay = [&](int item, int k, bool into) {
    Nanos least = kMaxNanos, most = 0;
    for (int e = 0; e < num_classes; ++e) {
      if (e == k) continue;
      times[e] = LeastTime(ItemTimes(p, item), classes[into ? e : k], classes[into ? k : e]);
      least = std::min(least, times[e]);
      most = std::max(most, times[e]);
    }
    if (most == 0) return;
    const int maker = p.maker[item];
    const int time = model.AddColumn(0, 0, in_units(most));
    add_payment(k, time, 1);
    weight[maker] += in_units(least) / num_classes;
    cross(item, time, in_units(least), k, into);
    if (least == most) return;
    for (const int reader : p.readers_of(item)) {
      row.assign(1, {time, 1});
      for (int e = 0; e < num_classes; ++e) {
        if (e != k) share(into ? maker : reader, e, -in_units(times[e]), row);
      }
      if (!share(into ? reader : maker, k, -in_units(most), row)) continue;
      model.AddRow(-in_units(most), kNoLimit, row);
    }
  };
  for (int item = 0; item < p.num_items; ++item) {
    for (int k = 0; k < num_classes; ++k) {
      if (num_classes == 2) {
        send(item, k);
      } else if (p.pays[classes[k][0]] != 0) {
        pay(item, k, true);
        pay(item, k, false);
      }
    }
  }
  std::vector<int> dearest(p.num_groups);
  std::iota(dearest.begin(), dearest.end(), 0);
  std::ranges::stable_sort(dearest, std::greater{}, [&](int g) { return weight[g]; });
  if (dearest.size() > kMostSeeds) dearest.resize(kMostSeeds);
  const std::vector<Nanos> least_paid = LeastTransfers(p, dearest, known);
  for (int k = 0; k < num_classes; ++k) {
    if (payments[k].empty() || classes[k].size() > 1) continue;
    const int paid = model.AddColumn(0, 0, kMostPeriods);
    payments[k].emplace_back(paid, -1);
    model.AddRow(0, kNoLimit, payments[k]);
    for (std::size_t i = 0; i < dearest.size(); ++i) {
      // kMaxNanos: no device that pays can have the group, and `known` suffices to exclude it.
      const Nanos least = std::min(least_paid[i], known);
      row.assign(1, {paid, 1});
      if (least > 0 && share(dearest[i], k, -in_units(least), row)) model.AddRow(0, kNoLimit, row);
    }
  }
  for (int input = 0; input < p.num_inputs; ++input) {
    for (int k = 0; k < num_classes; ++k) {
      if (p.memory[classes[k][0]] == kUnlimitedMemory) continue;
      const int there = model.AddColumn(0, 0, 1);
      bytes[k].emplace_back(there, static_cast<double>(p.input_bytes[input]));
      most_bytes[k] += p.input_bytes[input];
      for (const int reader : p.readers_of(p.num_items + input)) {
        row.assign(1, {there, 1});
        if (share(reader, k, -1, row)) model.AddRow(0, kNoLimit, row);
      }
    }
  }
  for (int k = 0; k < num_classes; ++k) {
    load[k].emplace_back(period, static_cast<double>(classes[k].size()));
    model.AddRow(0, kNoLimit, load[k]);
    double memory = 0;
    for (const int d : classes[k]) memory += static_cast<double>(p.memory[d]);
    if (static_cast<double>(most_bytes[k]) <= memory) continue;
    const double size = std::max(1.0, memory);
    for (auto& [column, amount] : bytes[k]) amount /= size;
    // The limit is slightly raised to allow for the rounding of the coefficients.
    model.AddRow(-kNoLimit, memory / size + 1e-12, bytes[k]);
  }
  device_.resize(model.num_columns(), -1);
}

Placement PeriodProgramme::Round(std::span<const double> solution) const {
  Placement placement;
  for (const std::vector<int>& choice : columns) {
    const int best = *std::ranges::max_element(choice, {}, [&](int c) { return solution[c]; });
    placement.device.push_back(static_cast<DeviceIndex>(device_[best]));
  }
  return placement;
}

Nanos PeriodProgramme::ToNanos(double value) const {
  return static_cast<Nanos>(std::ceil(std::max(0.0, value) * kCoefficients * unit));
}

double PeriodProgramme::Cutoff(Nanos known_period) const {
  const auto period = static_cast<double>(known_period);
  return (period - std::max(0.5, 1e-7 * period)) / unit;
}

std::vector<int> PeriodProgramme::Branches(int group, std::span<const int> decided) const {
  std::uint64_t used = 0, tried = 0;
  for (const int column : decided) used |= std::uint64_t{1} << device_[column];
  std::vector<int> result;
  for (const int column : columns[group]) {
    const int d = device_[column];
    const std::uint64_t alike = std::uint64_t{1} << first_alike_[d];
    if ((used >> d & 1) == 0) {
      if (tried & alike) continue;
      tried |= alike;
    }
    result.push_back(column);
  }
  return result;
}

}  // namespace emplace
