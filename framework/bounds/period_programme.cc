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

PeriodProgramme::PeriodProgramme(const CompiledPeriod& p, Nanos known)
    : unit(static_cast<double>(known)), first_alike_(InterchangeableDevices(p)) {
  const int period = model.AddColumn(1, 0, kMostPeriods);
  std::vector<std::vector<std::pair<int, double>>> load(p.num_devices), bytes(p.num_devices);
  std::vector<std::int64_t> most_bytes(p.num_devices, 0);
  std::vector<int> x(static_cast<std::size_t>(p.num_groups) * p.num_devices, -1);
  const auto in_units = [&](Nanos time) { return static_cast<double>(time) / unit; };
  for (int g = 0; g < p.num_groups; ++g) {
    columns.emplace_back();
    std::vector<std::pair<int, double>> one;
    Nanos dearest = 0;
    for (int d = 0; d < p.num_devices; ++d) {
      const Nanos cost = p.problem.group_cost(g, d);
      if (cost >= known) continue;
      const int column = model.AddColumn(0, 0, 1);
      x[static_cast<std::size_t>(g) * p.num_devices + d] = column;
      device_.resize(column + 1, -1);
      device_[column] = d;
      columns[g].push_back(column);
      one.emplace_back(column, 1);
      load[d].emplace_back(column, -in_units(cost));
      bytes[d].emplace_back(column, static_cast<double>(p.bytes[g]));
      most_bytes[d] += p.bytes[g];
      dearest = std::max(dearest, cost);
    }
    model.AddRow(1, 1, one);
    weight.push_back(in_units(dearest));
  }
  // Adds the share of a group on a device to a row; adds nothing where the group may not run.
  const auto share = [&](int g, int d, double factor, std::vector<std::pair<int, double>>& row) {
    const int column = x[static_cast<std::size_t>(g) * p.num_devices + d];
    if (column >= 0) row.emplace_back(column, factor);
    return column >= 0;
  };
  std::vector<std::vector<std::pair<int, double>>> payments(p.num_devices);
  std::vector<std::pair<int, double>> row;
  // Adds rows: time >= least (x_a - x_b), and if times differ, time >= sum over e of times[e]
  // x_other(e) - most (1 - x_here).
  const auto pay = [&](int item, int d, bool into) {
    const ItemTimes times(p, item);
    const auto [least, most] =
        times.Range([&](int from, int to) { return (into ? to : from) == d; });
    if (most == 0) return;
    const int maker = p.maker[item];
    const int time = model.AddColumn(0, 0, in_units(most));
    load[d].emplace_back(time, -1);
    payments[d].emplace_back(time, 1);
    weight[maker] += in_units(least) / p.num_devices;
    for (const int reader : p.readers_of(item)) {
      row.assign(1, {time, 1});
      share(into ? reader : maker, d, -in_units(least), row);
      share(into ? maker : reader, d, in_units(least), row);
      model.AddRow(0, kNoLimit, row);
      if (least == most) continue;
      row.assign(1, {time, 1});
      for (int e = 0; e < p.num_devices; ++e) {
        if (e == d) continue;
        share(into ? maker : reader, e, -in_units(into ? times.at(e, d) : times.at(d, e)), row);
      }
      if (!share(into ? reader : maker, d, -in_units(most), row)) continue;
      model.AddRow(-in_units(most), kNoLimit, row);
    }
  };
  for (int item = 0; item < p.num_items; ++item) {
    for (int d = 0; d < p.num_devices; ++d) {
      if (p.pays[d] == 0) continue;
      pay(item, d, true);
      pay(item, d, false);
    }
  }
  std::vector<int> dearest(p.num_groups);
  std::iota(dearest.begin(), dearest.end(), 0);
  std::ranges::stable_sort(dearest, std::greater{}, [&](int g) { return weight[g]; });
  if (dearest.size() > kMostSeeds) dearest.resize(kMostSeeds);
  const std::vector<Nanos> least_paid = LeastTransfers(p, dearest, known);
  for (int d = 0; d < p.num_devices; ++d) {
    if (payments[d].empty()) continue;
    const int paid = model.AddColumn(0, 0, kMostPeriods);
    payments[d].emplace_back(paid, -1);
    model.AddRow(0, kNoLimit, payments[d]);
    for (std::size_t i = 0; i < dearest.size(); ++i) {
      // kMaxNanos: no device that pays can have the group, and `known` suffices to exclude it.
      const Nanos least = std::min(least_paid[i], known);
      row.assign(1, {paid, 1});
      if (least > 0 && share(dearest[i], d, -in_units(least), row)) model.AddRow(0, kNoLimit, row);
    }
  }
  for (int input = 0; input < p.num_inputs; ++input) {
    for (int d = 0; d < p.num_devices; ++d) {
      if (p.memory[d] == kUnlimitedMemory) continue;
      const int there = model.AddColumn(0, 0, 1);
      bytes[d].emplace_back(there, static_cast<double>(p.input_bytes[input]));
      most_bytes[d] += p.input_bytes[input];
      for (const int reader : p.readers_of(p.num_items + input)) {
        row.assign(1, {there, 1});
        if (share(reader, d, -1, row)) model.AddRow(0, kNoLimit, row);
      }
    }
  }
  for (int d = 0; d < p.num_devices; ++d) {
    load[d].emplace_back(period, 1);
    model.AddRow(0, kNoLimit, load[d]);
    if (most_bytes[d] <= p.memory[d]) continue;
    const double size = std::max(1.0, static_cast<double>(p.memory[d]));
    for (auto& [column, amount] : bytes[d]) amount /= size;
    // The limit is slightly raised to allow for the rounding of the coefficients.
    model.AddRow(-kNoLimit, static_cast<double>(p.memory[d]) / size + 1e-12, bytes[d]);
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
