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

using Row = std::vector<std::pair<int, double>>;  // columns and their factors

// Returns the devices of each class.
std::vector<std::vector<int>> Classes(std::span<const int> class_of, int num_devices) {
  std::vector<std::vector<int>> classes;
  for (int d = 0; d < num_devices; ++d) {
    const int first = class_of.empty() ? d : class_of[d];
    const auto own =
        std::ranges::find_if(classes, [&](const auto& devices) { return devices[0] == first; });
    if (own == classes.end()) {
      classes.push_back({d});
    } else {
      own->push_back(d);
    }
  }
  return classes;
}

// Makes the columns and rows of a PeriodProgramme. Each function is called once, in their order.
class Builder {
 public:
  Builder(const CompiledPeriod& problem, Nanos known, std::vector<std::vector<int>> classes)
      : p_(problem),
        known_(known),
        classes_(std::move(classes)),
        num_classes_(static_cast<int>(classes_.size())),
        period_(model.AddColumn(1, 0, kMostPeriods)),
        x_(static_cast<std::size_t>(p_.num_groups) * num_classes_, -1),
        load_(num_classes_),
        bytes_(num_classes_),
        payments_(num_classes_),
        crossings_(num_classes_),
        most_bytes_(num_classes_, 0),
        times_(num_classes_) {}

  // Adds x, and for each group a row: one class has it.
  void AddGroups() {
    for (int g = 0; g < p_.num_groups; ++g) {
      columns.emplace_back();
      Row one;
      Nanos dearest = 0;
      for (int k = 0; k < num_classes_; ++k) {
        const int first = classes_[k][0];
        const Nanos cost = p_.problem.group_cost(g, first);
        if (cost >= known_) continue;
        const int column = model.AddColumn(0, 0, 1);
        x_[static_cast<std::size_t>(g) * num_classes_ + k] = column;
        device.resize(column + 1, -1);
        device[column] = first;
        columns[g].push_back(column);
        one.emplace_back(column, 1);
        load_[k].emplace_back(column, -InUnits(cost));
        bytes_[k].emplace_back(column, static_cast<double>(p_.bytes[g]));
        most_bytes_[k] += p_.bytes[g];
        dearest = std::max(dearest, cost);
      }
      model.AddRow(1, 1, one);
      weight.push_back(InUnits(dearest));
    }
  }

  // Adds for each item the columns and rows of the times that its transfers take.
  void AddTransfers() {
    for (int item = 0; item < p_.num_items; ++item) {
      for (int k = 0; k < num_classes_; ++k) {
        if (num_classes_ == 2) {
          Send(item, k);
        } else if (Pays(k)) {
          Pay(item, k, true);
          Pay(item, k, false);
        }
      }
    }
  }

  // Adds a row per class: its transfers, and those among its devices, take the least payment.
  void AddLeastPayments(const LeastPayments& least) {
    if (least.own.empty()) return;
    for (int k = 0; k < num_classes_; ++k) {
      const bool several = classes_[k].size() > 1;
      const Nanos time = (several ? least.of_class : least.own)[classes_[k][0]];
      if (time == 0) continue;
      if (several) {
        const int among = model.AddColumn(0, 0, kMostPeriods);
        load_[k].emplace_back(among, -1);
        crossings_[k].emplace_back(among, 1);
      }
      model.AddRow(InUnits(time), kNoLimit, crossings_[k]);
    }
  }

  // Adds the rows by which a device with one of the most expensive groups pays its least transfers.
  void AddLeastTransfers() {
    std::vector<int> dearest(p_.num_groups);
    std::iota(dearest.begin(), dearest.end(), 0);
    std::ranges::stable_sort(dearest, std::greater{}, [&](int g) { return weight[g]; });
    if (dearest.size() > kMostSeeds) dearest.resize(kMostSeeds);
    std::vector<Nanos> least_paid;
    for (int k = 0; k < num_classes_; ++k) {
      if (payments_[k].empty() || classes_[k].size() > 1) continue;
      if (least_paid.empty()) least_paid = LeastTransfers(p_, dearest, known_);
      const int paid = model.AddColumn(0, 0, kMostPeriods);
      payments_[k].emplace_back(paid, -1);
      model.AddRow(0, kNoLimit, payments_[k]);
      for (std::size_t i = 0; i < dearest.size(); ++i) {
        // kMaxNanos: no device that pays can have the group, and known_ suffices to exclude it.
        const Nanos least = std::min(least_paid[i], known_);
        row_.assign(1, {paid, 1});
        if (least > 0 && Share(dearest[i], k, -InUnits(least))) model.AddRow(0, kNoLimit, row_);
      }
    }
  }

  // Adds columns for the inputs in the memory of each class.
  void AddInputs() {
    for (int input = 0; input < p_.num_inputs; ++input) {
      for (int k = 0; k < num_classes_; ++k) {
        if (p_.memory[classes_[k][0]] == kUnlimitedMemory) continue;
        const int there = model.AddColumn(0, 0, 1);
        bytes_[k].emplace_back(there, static_cast<double>(p_.input_bytes[input]));
        most_bytes_[k] += p_.input_bytes[input];
        for (const int reader : p_.readers_of(p_.num_items + input)) {
          row_.assign(1, {there, 1});
          if (Share(reader, k, -1)) model.AddRow(0, kNoLimit, row_);
        }
      }
    }
  }

  // Adds rows for the time and the memory of each class.
  void AddLimits() {
    for (int k = 0; k < num_classes_; ++k) {
      load_[k].emplace_back(period_, static_cast<double>(classes_[k].size()));
      model.AddRow(0, kNoLimit, load_[k]);
      double memory = 0;
      for (const int d : classes_[k]) memory += static_cast<double>(p_.memory[d]);
      if (static_cast<double>(most_bytes_[k]) <= memory) continue;
      const double size = std::max(1.0, memory);
      for (auto& [column, amount] : bytes_[k]) amount /= size;
      // The limit is slightly raised to allow for the rounding of the coefficients.
      model.AddRow(-kNoLimit, memory / size + 1e-12, bytes_[k]);
    }
  }

  LinearModel model;  // these four as in PeriodProgramme
  std::vector<std::vector<int>> columns;
  std::vector<double> weight;
  std::vector<int> device;

 private:
  double InUnits(Nanos time) const {
    return static_cast<double>(time) / static_cast<double>(known_);
  }
  bool Pays(int k) const { return p_.pays[classes_[k][0]] != 0; }

  // Adds the share of a group on a class to row_; adds nothing where the group may not run.
  bool Share(int group, int k, double factor) {
    const int column = x_[static_cast<std::size_t>(group) * num_classes_ + k];
    if (column >= 0) row_.emplace_back(column, factor);
    return column >= 0;
  }

  // Adds a row per reader: column >= factor (x_a - x_b), where one of a and b is the maker.
  void Cross(int item, int column, double factor, int k, bool into) {
    for (const int reader : p_.readers_of(item)) {
      row_.assign(1, {column, 1});
      Share(into ? reader : p_.maker[item], k, -factor);
      Share(into ? p_.maker[item] : reader, k, factor);
      model.AddRow(0, kNoLimit, row_);
    }
  }

  // @param least  factor with which the column counts for the least payment
  void AddPayment(int k, int column, double factor, double least) {
    load_[k].emplace_back(column, -factor);
    payments_[k].emplace_back(column, factor);
    if (least > 0) crossings_[k].emplace_back(column, least);
  }

  // Of two classes one sends whenever the other receives: one column in [0, 1] for both ends.
  void Send(int item, int from) {
    const int to = 1 - from;
    const ItemTimes times(p_, item);
    const Nanos time = LeastTime(times, classes_[from], classes_[to]);
    if (time == 0 || (!Pays(0) && !Pays(1))) return;
    const int sent = model.AddColumn(0, 0, 1);
    for (const int k : {from, to}) {
      if (!Pays(k)) continue;
      AddPayment(k, sent, InUnits(time), InUnits(times.least()));
      weight[p_.maker[item]] += InUnits(time) / num_classes_;
    }
    Cross(item, sent, 1, from, false);
  }

  // Adds a column for the time, and if times differ, rows: time >= sum over e of times_[e]
  // x_other(e) - most (1 - x_here).
  void Pay(int item, int k, bool into) {
    Nanos least = kMaxNanos, most = 0;
    for (int e = 0; e < num_classes_; ++e) {
      if (e == k) continue;
      times_[e] = LeastTime(ItemTimes(p_, item), classes_[into ? e : k], classes_[into ? k : e]);
      least = std::min(least, times_[e]);
      most = std::max(most, times_[e]);
    }
    if (most == 0) return;
    const int maker = p_.maker[item];
    const int time = model.AddColumn(0, 0, InUnits(most));
    const Nanos of_any = ItemTimes(p_, item).least();
    AddPayment(k, time, 1, of_any > 0 ? InUnits(of_any) / InUnits(least) : 0);
    weight[maker] += InUnits(least) / num_classes_;
    Cross(item, time, InUnits(least), k, into);
    if (least == most) return;
    for (const int reader : p_.readers_of(item)) {
      row_.assign(1, {time, 1});
      for (int e = 0; e < num_classes_; ++e) {
        if (e != k) Share(into ? maker : reader, e, -InUnits(times_[e]));
      }
      if (!Share(into ? reader : maker, k, -InUnits(most))) continue;
      model.AddRow(-InUnits(most), kNoLimit, row_);
    }
  }

  const CompiledPeriod& p_;
  const Nanos known_;
  const std::vector<std::vector<int>> classes_;  // devices of each
  const int num_classes_, period_;
  std::vector<int> x_;  // [num_groups * num_classes_] columns; -1: none
  std::vector<Row> load_, bytes_, payments_, crossings_;  // [num_classes_]
  std::vector<std::int64_t> most_bytes_;                  // [num_classes_]
  std::vector<Nanos> times_;  // [num_classes_] between a class and each other one
  Row row_;                   // the one that is being made
};

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
                                 const LeastPayments& least,
                                 std::span<const int> class_of)
    : unit(static_cast<double>(known)), first_alike_(InterchangeableDevices(p)) {
  Builder builder(p, known, Classes(class_of, p.num_devices));
  builder.AddGroups();
  builder.AddTransfers();
  builder.AddLeastPayments(least);
  builder.AddLeastTransfers();
  builder.AddInputs();
  builder.AddLimits();
  model = std::move(builder.model);
  columns = std::move(builder.columns);
  weight = std::move(builder.weight);
  device_ = std::move(builder.device);
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
