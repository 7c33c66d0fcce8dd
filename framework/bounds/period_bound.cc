#include "framework/bounds/period_bound.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "framework/bounds/bounds.h"

namespace emplace {
namespace {

constexpr double kMostPeriods = 1000;  // columns of times are bounded, so that prices prove
// Costs and times are rounded when they become coefficients. As the least period is proportional to
// them, this share of it surely remains.
constexpr double kCoefficients = 1 - 1e-14;
constexpr double kSpread = 1e-4;  // least violation of an inequality that is added
constexpr std::size_t kRowsPerRound = 60;
constexpr double kLeastGain = 2e-4;      // of a round, in ten rounds, else spreading is at its end
constexpr double kSpreadingShare = 0.5;  // of the seconds, at most

// The times of an item between devices: least, most, and one by one.
struct ItemTimes {
  ItemTimes(const CompiledPeriod& problem, int item)
      : p(problem), row(problem.transfer_time.data() + problem.times[item]) {}
  Nanos at(int from, int to) const { return row[p.path[from * p.num_devices + to]]; }
  template <class Accept>
  std::pair<Nanos, Nanos> Range(const Accept& accept) const {
    Nanos least = kMaxNanos, most = 0;
    for (int from = 0; from < p.num_devices; ++from) {
      for (int to = 0; to < p.num_devices; ++to) {
        if (from == to || !accept(from, to)) continue;
        least = std::min(least, at(from, to));
        most = std::max(most, at(from, to));
      }
    }
    return {std::min(least, most), most};
  }
  const CompiledPeriod& p;
  const Nanos* row;
};

class Spreading {
 public:
  Spreading(const CompiledPeriod& p, Nanos known)
      : p_(p), unit_(static_cast<double>(known)), known_(known) {
    SetGraph();
    SetModel();
  }

  /// @param told  called with each proven bound [ns]; true ends it
  void Run(const std::function<bool()>& stop, const std::function<bool(Nanos)>& told) {
    LinearProgramme programme(model_);
    double before = 0;
    for (int round = 0;; ++round) {
      const LinearProgramme::Status status = programme.Solve(stop);
      const double value = ProvenValue(model_, programme.prices(), model_.lower, model_.upper);
      const double bound = std::clamp(value * kCoefficients, 0.0, 1.0) * unit_;
      if (told(std::min(static_cast<Nanos>(std::ceil(bound)), known_)) ||
          status != LinearProgramme::Status::kOptimal)
        return;
      if (round % 10 == 9) {
        if (value < before + kLeastGain) return;
        before = value;
      }
      if (!AddViolated(programme.solution(), stop)) return;
      programme.AddRows(model_);
    }
  }

 private:
  struct Link {
    int item;
    int group;
  };

  void SetGraph() {
    cost_.assign(p_.num_groups, kMaxNanos);
    for (int g = 0; g < p_.num_groups; ++g) {
      for (int d = 0; d < p_.num_devices; ++d) {
        cost_[g] = std::min(cost_[g], p_.problem.group_cost(g, d));
      }
    }
    links_.resize(p_.num_groups);
    for (int i = 0; i < p_.num_items; ++i) {
      const Nanos least = ItemTimes(p_, i).Range([](int, int) { return true; }).first;
      time_.push_back(least);
      if (least == 0) continue;  // free to cut
      pins_.assign(1, p_.maker[i]);
      for (const int reader : p_.readers_of(i)) pins_.push_back(reader);
      for (const int a : pins_) {
        for (const int b : pins_) {
          if (a != b) links_[a].push_back({i, b});
        }
      }
    }
  }

  void SetModel() {
    const std::vector<int> alike = InterchangeableDevices(p_);
    period_ = model_.AddColumn(1, 0, kMostPeriods);
    std::vector<std::pair<int, double>> payment;
    std::vector<std::vector<std::pair<int, double>>> shares(p_.num_groups), free(p_.num_groups);
    int num_free = 0;
    for (int d = 0; d < p_.num_devices; ++d) {
      num_free += p_.pays[d] == 0;
      if (alike[d] != d) continue;
      const auto count = static_cast<double>(std::ranges::count(alike, d));
      std::vector<std::pair<int, double>> load{{period_, count}};
      for (int g = 0; g < p_.num_groups; ++g) {
        const Nanos cost = p_.problem.group_cost(g, d);
        if (cost >= known_) continue;  // no smaller period has it there
        const int share = model_.AddColumn(0, 0, 1);
        shares[g].emplace_back(share, 1);
        if (p_.pays[d] == 0) free[g].emplace_back(share, 1);
        load.emplace_back(share, -static_cast<double>(cost) / unit_);
      }
      if (p_.pays[d] != 0) {
        const int transfers = model_.AddColumn(0, 0, count * kMostPeriods);
        load.emplace_back(transfers, -1);
        payment.emplace_back(transfers, 1);
      }
      model_.AddRow(0, kNoLimit, load);
    }
    for (const auto& row : shares) model_.AddRow(1, 1, row);
    for (int i = 0; i < p_.num_items; ++i) {
      const double time = static_cast<double>(time_[i]) / unit_;
      length_.push_back(time > 0 ? model_.AddColumn(0, 0, 1) : -1);
      if (time == 0) continue;
      payment.emplace_back(length_[i], -2 * time);
      if (num_free == 0) continue;
      const int away = model_.AddColumn(0, 0, 1);
      payment.emplace_back(away, std::min(num_free, 2) * time);
      model_.AddRow(0, kNoLimit, std::vector<std::pair<int, double>>{{length_[i], 1}, {away, -1}});
      std::vector<std::pair<int, double>> reach = free[p_.maker[i]];
      for (const int reader : p_.readers_of(i)) {
        reach.insert(reach.end(), free[reader].begin(), free[reader].end());
      }
      reach.emplace_back(away, -1);
      model_.AddRow(0, kNoLimit, reach);
    }
    model_.AddRow(0, kNoLimit, payment);
  }

  // Adds the inequalities that a solution violates most. @return whether there was one
  bool AddViolated(std::span<const double> solution, const std::function<bool()>& stop) {
    struct Row {
      double violation;
      double right;
      std::vector<std::pair<int, double>> entries;
    };
    std::vector<Row> rows;
    std::vector<double> far(p_.num_groups), weight(p_.num_groups);
    std::vector<int> via(p_.num_groups), from(p_.num_groups), reached;
    using Entry = std::pair<double, int>;
    for (int v = 0; v < p_.num_groups; ++v) {
      if (stop()) return false;
      std::ranges::fill(far, 1.0);
      reached.clear();
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      far[v] = 0;
      via[v] = from[v] = -1;
      queue.emplace(0, v);
      double covered = 0, right = 0;
      while (!queue.empty()) {
        const auto [at, u] = queue.top();
        queue.pop();
        if (at > far[u]) continue;
        reached.push_back(u);
        const double cost = static_cast<double>(cost_[u]) / unit_;
        covered += cost * (1 - at);
        right += cost;
        for (const auto& [item, other] : links_[u]) {
          const double there = at + std::max(0.0, solution[length_[item]]);
          if (there >= far[other]) continue;
          far[other] = there;
          via[other] = item;
          from[other] = u;
          queue.emplace(there, other);
        }
      }
      const double violation = covered - solution[period_];
      if (violation <= kSpread) continue;
      // Each item of the tree of paths carries the cost of what is behind it.
      Row row{violation, right, {{period_, 1}}};
      for (const int u : reached) weight[u] = static_cast<double>(cost_[u]) / unit_;
      std::vector<std::pair<int, double>> entries;
      for (auto u = reached.rbegin(); u != reached.rend(); ++u) {
        if (from[*u] < 0) continue;
        weight[from[*u]] += weight[*u];
        // Rounded up by more than the sum's own rounding: the inequality is never too strong.
        entries.emplace_back(length_[via[*u]], weight[*u] * (1 + 1e-10));
      }
      std::ranges::sort(entries);
      for (const auto& [column, amount] : entries) {
        if (row.entries.back().first == column) {
          row.entries.back().second += amount;
        } else {
          row.entries.emplace_back(column, amount);
        }
      }
      rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(rows, std::greater{}, &Row::violation);
    if (rows.size() > kRowsPerRound) {  // half the worst, half evenly from the others
      std::vector<Row> kept(rows.begin(), rows.begin() + kRowsPerRound / 2);
      const std::size_t others = rows.size() - kRowsPerRound / 2;
      for (std::size_t i = 0; i < kRowsPerRound / 2; ++i) {
        kept.push_back(rows[kRowsPerRound / 2 + i * others / (kRowsPerRound / 2)]);
      }
      rows = std::move(kept);
    }
    for (const Row& row : rows) {
      model_.AddRow(row.right * (1 - 1e-10), kNoLimit, row.entries);
    }
    return !rows.empty();
  }

  const CompiledPeriod& p_;
  double unit_;
  Nanos known_;
  LinearModel model_;
  int period_ = 0;
  std::vector<int> length_;               // [num_items] column; -1: free to cut
  std::vector<Nanos> cost_, time_;        // [num_groups], [num_items] least [ns]
  std::vector<std::vector<Link>> links_;  // [num_groups] by items that are not free
  std::vector<int> pins_;
};

// Least cuts that part one group from another, by the rules of the header: Dinic's algorithm.
class LeastCut {
 public:
  explicit LeastCut(const CompiledPeriod& p)
      : num_groups_(p.num_groups), sink_(p.num_groups), arcs_of_(p.num_groups + 1) {
    for (int g = 0; g < p.num_groups; ++g) {
      Nanos least = kMaxNanos;
      for (int d = 0; d < p.num_devices; ++d) {
        if (p.pays[d] != 0) least = std::min(least, p.problem.group_cost(g, d));
      }
      AddArc(g, sink_, least);
    }
    for (int i = 0; i < p.num_items; ++i) {
      const Nanos time = ItemTimes(p, i).Range([](int, int) { return true; }).first;
      if (time == 0) continue;
      const int in = static_cast<int>(arcs_of_.size());
      arcs_of_.resize(in + 2);
      AddArc(in, in + 1, time);
      const auto pin = [&](int g) {
        AddArc(g, in, kMaxNanos);
        AddArc(in + 1, g, kMaxNanos);
      };
      pin(p.maker[i]);
      for (const int reader : p.readers_of(i)) pin(reader);
    }
  }

  /// Whether no set with `inside` and without `outside` has a load of less than `load`.
  bool IsAtLeast(int inside, int outside, Nanos load) {
    for (std::size_t a = 0; a < arcs_.size(); ++a) arcs_[a].left = capacity_[a];
    outside_ = outside;
    Nanos flow = 0;
    while (flow < load && Layer(inside)) {
      next_.assign(arcs_of_.size(), 0);
      while (flow < load) {
        const Nanos more = Push(inside, load - flow);
        if (more == 0) break;
        flow += more;
      }
    }
    return flow >= load;
  }

 private:
  struct Arc {
    int to;
    Nanos left;
  };

  void AddArc(int from, int to, Nanos capacity) {
    arcs_of_[from].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({to, 0});
    capacity_.push_back(capacity);
    arcs_of_[to].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({from, 0});
    capacity_.push_back(0);
  }

  bool IsEnd(int node) const { return node == sink_ || node == outside_; }

  // Distances from the source. @return whether an end is reached
  bool Layer(int source) {
    depth_.assign(arcs_of_.size(), -1);
    depth_[source] = 0;
    queue_.assign(1, source);
    bool reached = false;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const int node = queue_[i];
      if (IsEnd(node)) {
        reached = true;
        continue;
      }
      for (const int a : arcs_of_[node]) {
        if (arcs_[a].left == 0 || depth_[arcs_[a].to] >= 0) continue;
        depth_[arcs_[a].to] = depth_[node] + 1;
        queue_.push_back(arcs_[a].to);
      }
    }
    return reached;
  }

  Nanos Push(int node, Nanos most) {
    if (IsEnd(node)) return most;
    for (std::size_t& i = next_[node]; i < arcs_of_[node].size(); ++i) {
      const int a = arcs_of_[node][i];
      if (arcs_[a].left == 0 || depth_[arcs_[a].to] != depth_[node] + 1) continue;
      const Nanos pushed = Push(arcs_[a].to, std::min(most, arcs_[a].left));
      if (pushed == 0) continue;
      arcs_[a].left -= pushed;
      arcs_[a ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }

  int num_groups_, sink_, outside_ = -1;
  std::vector<std::vector<int>> arcs_of_;  // groups, the sink, two nodes per item
  std::vector<Arc> arcs_;                  // each beside its reverse
  std::vector<Nanos> capacity_;
  std::vector<int> depth_, queue_;
  std::vector<std::size_t> next_;
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
      // Of each way to be apart one device that pays has too much.
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

Nanos MostPeriod(const CompiledPeriod& p) {
  Nanos most = 1;
  for (int g = 0; g < p.num_groups; ++g) {
    Nanos dearest = 0;
    for (int d = 0; d < p.num_devices; ++d) {
      if (p.problem.allowed(g, d)) dearest = std::max(dearest, p.problem.group_cost(g, d));
    }
    most += dearest;
  }
  for (int i = 0; i < p.num_items; ++i) {
    most += ItemTimes(p, i).Range([](int, int) { return true; }).second;
  }
  return most;
}

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

void ProveSpreading(const CompiledPeriod& problem,
                    Nanos known,
                    const std::function<bool()>& stop,
                    const std::function<bool(Nanos)>& told) {
  Spreading(problem, known).Run(stop, told);
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
  // The share of a group on a device; nothing where it may not be.
  const auto share = [&](int g, int d, double factor, std::vector<std::pair<int, double>>& row) {
    const int column = x[static_cast<std::size_t>(g) * p.num_devices + d];
    if (column >= 0) row.emplace_back(column, factor);
    return column >= 0;
  };
  std::vector<std::pair<int, double>> row;
  // time >= least (x_a - x_b), and where times differ, time >= sum over e of times[e] x_other(e)
  // - most (1 - x_here).
  const auto pay = [&](int item, int d, bool into) {
    const ItemTimes times(p, item);
    const auto [least, most] =
        times.Range([&](int from, int to) { return (into ? to : from) == d; });
    if (most == 0) return;
    const int maker = p.maker[item];
    const int time = model.AddColumn(0, 0, in_units(most));
    load[d].emplace_back(time, -1);
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
    // A little more than there is, for the rounding of the coefficients.
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

LowerBound ProvePeriodBound(const Problem& problem, const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  LowerBound best{ComputeBounds(problem).work, "work"};
  const auto tell = [&](Nanos value, const char* method) {
    if (value > best.value) {
      best = {value, method};
      if (options.improved) options.improved(best);
    }
    return best.value >= options.known;
  };
  if (options.improved) options.improved(best);
  for (int g = 0; g < problem.num_groups(); ++g) {
    Nanos least = kMaxNanos;
    for (int d = 0; d < problem.num_devices(); ++d) {
      least = std::min(least, problem.group_cost(g, d));
    }
    tell(least, "group");
  }
  if (options.seconds <= 0 || best.value >= options.known) return best;

  const Nanos known = std::min(options.known, MostPeriod(CompiledPeriod(problem)));
  double end = kSpreadingShare * options.seconds;
  const auto stop = [&] { return options.interrupt.wanted() || seconds() > end; };
  const std::shared_ptr<const Problem> merged = MergeInseparable(problem, known, stop);
  options.interrupt.Check();
  const CompiledPeriod compiled(*merged);
  ProveSpreading(compiled, known, stop, [&](Nanos value) { return tell(value, "spreading"); });
  options.interrupt.Check();
  if (best.value >= options.known) return best;

  end = options.seconds;
  const PeriodProgramme programme(compiled, known);
  for (const std::vector<int>& choice : programme.columns) {
    if (choice.empty()) {  // no device has it within a smaller period
      tell(known, "group");
      return best;
    }
  }
  const auto told = [&](double value) {
    tell(std::min(programme.ToNanos(value), known), "branch_and_bound");
  };
  told(BranchAndBound(
      programme.model,
      {.choices = programme.columns,
       .weight = programme.weight,
       .branches = [&](int group,
                       std::span<const int> decided) { return programme.Branches(group, decided); },
       .stop = stop,
       .cutoff = [&] { return programme.Cutoff(known); },
       .improved = told}));
  options.interrupt.Check();
  return best;
}

}  // namespace emplace
