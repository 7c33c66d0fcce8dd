#include "framework/bounds/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <queue>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "framework/bounds/mip.h"
#include "framework/cluster/cluster.h"
#include "framework/cost/costs.h"

namespace emplace {
namespace {

constexpr double kMostTime = 1000;        // in units; unbounded columns would prevent a proof
constexpr double kLeastViolation = 1e-4;  // of a row that is added
constexpr std::size_t kCrossingsPerRound = 2000, kSpreadsPerRound = 100, kRootsPerRound = 300;
constexpr double kLeastGain = 1e-4;  // of the bound in ten rounds; below it the proof ends
// Rows are rounded so that they are never too strong: their requirements down, and the coefficients
// that satisfy these up, each by more than the rounding errors of their sums.
constexpr double kLess = 1 - 1e-10, kMore = 1 + 1e-10;

using Entries = std::vector<std::pair<int, double>>;

class CutProgramme {
 public:
  CutProgramme(const Problem& problem, const DeviceMasks& masks, Nanos unit)
      : problem_(problem), unit_(static_cast<double>(unit)) {
    SetClasses();
    SetItems();
    SetColumns(masks);
    SetClassRows();
    SetChannelRows();
  }

  void Run(const std::function<bool()>& stop, const std::function<bool(Nanos)>& told) {
    LinearProgramme programme(model_);
    double before = 0;
    for (int round = 1;; ++round) {
      const LinearProgramme::Status status = programme.Solve(stop);
      if (status == LinearProgramme::Status::kInfeasible) return;  // nothing fits
      const double value =
          kLess * ProvenValue(model_, programme.prices(), model_.lower, model_.upper);
      if (told(static_cast<Nanos>(std::ceil(std::max(0.0, value) * unit_)))) return;
      if (status != LinearProgramme::Status::kOptimal) return;
      if (round % 10 == 0) {
        if (value < before + kLeastGain) return;
        before = value;
      }
      if (!AddViolated(programme.solution(), round, stop)) return;
      programme.AddRows(model_);
    }
  }

 private:
  struct DeviceClass {
    int device = 0;  // one device of the class
    std::uint64_t devices = 0;
    double slots = 0, most_slots = 0;    // of all devices, of the largest
    double memory = 0, most_memory = 0;  // of all devices, of the largest [B]
  };
  // A pair of classes, or one class.
  struct Way {
    int a, b;                                // classes
    std::vector<std::pair<int, int>> pairs;  // of devices that have a route
    bool leaves(int k) const { return a != b && (a == k || b == k); }
  };
  struct Item {
    int maker;
    std::vector<int> readers;         // other groups, ascending
    std::vector<std::int64_t> bytes;  // of each of its tensors
    int column;                       // of the first way
  };
  struct Row {  // sum of the entries >= lower
    double violation;
    Entries entries;
    double lower = 0;
  };

  int num_classes() const { return static_cast<int>(classes_.size()); }
  int num_ways() const { return static_cast<int>(ways_.size()); }
  double cost(int group, int k) const {
    return static_cast<double>(problem_.group_cost(group, classes_[k].device)) / unit_;
  }
  double bytes(int group) const {
    return static_cast<double>(problem_.group_resident_bytes(group));
  }

  void SetClasses() {
    const Cluster& cluster = problem_.cluster();
    const std::vector<int> label = DevicesOfEqualCosts(problem_.costs());
    std::vector<int> class_of;
    for (int d = 0; d < cluster.num_devices(); ++d) {
      class_of.push_back(label[d] == d ? num_classes() : class_of[label[d]]);
      if (label[d] == d) classes_.push_back({.device = d});
      DeviceClass& own = classes_[class_of[d]];
      const Device& device = cluster.device(d);
      const double memory =
          device.memory == kUnlimitedMemory ? kNoLimit : std::max(1.0, double(device.memory));
      own.devices |= std::uint64_t{1} << d;
      own.slots += device.slots;
      own.most_slots = std::max<double>(own.most_slots, device.slots);
      own.memory += memory;
      own.most_memory = std::max(own.most_memory, memory);
    }
    std::map<std::pair<int, int>, int> way_of;
    for (int s = 0; s < cluster.num_devices(); ++s) {
      for (int d = 0; d < cluster.num_devices(); ++d) {
        if (s == d || cluster.route(s, d).empty()) continue;
        const std::pair<int, int> ends = std::minmax(class_of[s], class_of[d]);
        const auto [way, fresh] = way_of.try_emplace(ends, num_ways());
        if (fresh) ways_.push_back({ends.first, ends.second, {}});
        ways_[way->second].pairs.emplace_back(s, d);
      }
    }
  }

  // Items without bytes use no channel, so groups may be apart at no cost there. They are left out.
  void SetItems() {
    const Graph& graph = problem_.graph();
    const Grouping& grouping = problem_.grouping();
    std::map<std::pair<int, std::vector<int>>, int> item_of;
    for (int t = 0; t < graph.num_tensors(); ++t) {
      const Tensor& tensor = graph.tensor(t);
      if (tensor.producer < 0 || tensor.bytes == 0) continue;
      const int maker = grouping.group_of(tensor.producer);
      std::set<int> readers;
      for (const int v : graph.readers(t)) readers.insert(grouping.group_of(v));
      readers.erase(maker);
      if (readers.empty()) continue;
      std::vector<int> others(readers.begin(), readers.end());
      const auto [item, fresh] = item_of.try_emplace({maker, others}, std::ssize(items_));
      if (fresh) items_.push_back({maker, std::move(others), {}, -1});
      items_[item->second].bytes.push_back(tensor.bytes);
    }
    links_.resize(problem_.num_groups());
    for (int i = 0; i < std::ssize(items_); ++i) {
      for (const int r : items_[i].readers) {
        links_[items_[i].maker].emplace_back(i, r);
        links_[r].emplace_back(i, items_[i].maker);
      }
    }
  }

  void SetColumns(const DeviceMasks& masks) {
    time_ = model_.AddColumn(1, 0, kMostTime);
    share_.resize(problem_.num_groups());
    for (int g = 0; g < problem_.num_groups(); ++g) {
      Entries shares;
      for (int k = 0; k < num_classes(); ++k) {
        const double most = (masks[g] & classes_[k].devices) != 0 ? 1 : 0;
        share_[g].push_back(model_.AddColumn(0, 0, most));
        shares.emplace_back(share_[g].back(), 1);
      }
      model_.AddRow(1, 1, shares);
    }
    for (Item& item : items_) {
      item.column = model_.num_columns();
      for (int t = 0; t < num_ways(); ++t) model_.AddColumn(0, 0, 1);
    }
  }

  void SetClassRows() {
    for (int k = 0; k < num_classes(); ++k) {
      Entries work{{time_, classes_[k].slots * kMore}}, kept;
      for (int g = 0; g < problem_.num_groups(); ++g) {
        if (model_.upper[share_[g][k]] == 0) continue;
        work.emplace_back(share_[g][k], -cost(g, k));
        kept.emplace_back(share_[g][k], bytes(g));
      }
      model_.AddRow(0, kNoLimit, work);
      if (classes_[k].memory < kNoLimit) {
        for (auto& entry : kept) entry.second *= kLess / classes_[k].memory;
        model_.AddRow(-kNoLimit, 1, kept);
      }
    }
  }

  void SetChannelRows() {
    std::set<std::set<int>> sets;
    std::set<int> all;
    for (const Way& way : ways_) {
      std::set<int> channels;
      for (const auto& [s, d] : way.pairs) {
        const auto route = problem_.cluster().route(s, d);
        channels.insert(route.begin(), route.end());
      }
      all.insert(channels.begin(), channels.end());
      sets.insert(std::move(channels));
    }
    sets.insert(std::move(all));
    for (const std::set<int>& channels : sets) {
      Entries row{{time_, static_cast<double>(channels.size()) * kMore}};
      for (const Item& item : items_) {
        for (int t = 0; t < num_ways(); ++t) {
          row.emplace_back(item.column + t, -LeastTime(item, ways_[t], channels));
        }
      }
      model_.AddRow(0, kNoLimit, row);
    }
  }

  // Returns the least time that the item's transfer uses those channels, over the way's routes.
  double LeastTime(const Item& item, const Way& way, const std::set<int>& channels) const {
    double least = kNoLimit;
    for (const auto& [s, d] : way.pairs) {
      double time = 0;
      for (const int k : problem_.cluster().route(s, d)) {
        if (!channels.contains(k) || problem_.cluster().channel(k).broadcast) continue;
        for (const std::int64_t bytes : item.bytes) {
          time += static_cast<double>(WireTime(bytes, problem_.cluster().channel(k)));
        }
      }
      least = std::min(least, time / unit_);
    }
    return least;
  }

  // Adds inequalities that a solution violates. @return whether there was one
  bool AddViolated(std::span<const double> x, int round, const std::function<bool()>& stop) {
    std::vector<Row> crossings, spreads;
    for (const Item& item : items_) FindCrossings(item, x, crossings);
    const int groups = problem_.num_groups();
    const int step = std::max(1, groups / static_cast<int>(kRootsPerRound));
    for (int v = round % step; v < groups; v += step) {
      if (stop()) return false;
      FindSpreads(v, x, spreads);
    }
    AddWorst(crossings, kCrossingsPerRound);
    AddWorst(spreads, kSpreadsPerRound);
    return !crossings.empty() || !spreads.empty();
  }

  void AddWorst(std::vector<Row>& rows, std::size_t most) {
    std::ranges::stable_sort(rows, std::greater{}, &Row::violation);
    for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
      model_.AddRow(rows[i].lower, kNoLimit, rows[i].entries);
    }
  }

  void FindCrossings(const Item& item, std::span<const double> x, std::vector<Row>& rows) const {
    for (int k = 0; k < num_classes(); ++k) {
      Entries ways;
      double crossing = 0;
      for (int t = 0; t < num_ways(); ++t) {
        if (!ways_[t].leaves(k)) continue;
        ways.emplace_back(item.column + t, 1);
        crossing += x[item.column + t];
      }
      for (const int reader : item.readers) {
        const int here = share_[item.maker][k], there = share_[reader][k];
        const double violation = std::fabs(x[here] - x[there]) - crossing;
        if (violation < kLeastViolation) continue;
        Row row{violation, ways};
        row.entries.emplace_back(here, x[here] > x[there] ? -1 : 1);
        row.entries.emplace_back(there, x[here] > x[there] ? 1 : -1);
        rows.push_back(std::move(row));
      }
    }
  }

  void FindSpreads(int v, std::span<const double> x, std::vector<Row>& rows) {
    SetDistances(v, x);
    AddSpread(
        v,
        x,
        {{time_, 1}},
        0,
        [&](int u, int k) { return cost(u, k) / classes_[k].most_slots; },
        rows);
    AddSpread(
        v, x, {}, -1, [&](int u, int k) { return bytes(u) / classes_[k].most_memory; }, rows);
  }

  // Computes shortest paths from v to the groups that are less than its largest share away.
  void SetDistances(int v, std::span<const double> x) {
    double most = 0;
    for (const int column : share_[v]) most = std::max(most, x[column]);
    far_.assign(problem_.num_groups(), most);
    via_.assign(far_.size(), -1);
    from_.assign(far_.size(), -1);
    reached_.clear();
    far_[v] = 0;
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.emplace(0, v);
    while (!queue.empty()) {
      const auto [at, u] = queue.top();
      queue.pop();
      if (at > far_[u]) continue;
      reached_.push_back(u);
      for (const auto& [item, other] : links_[u]) {
        double there = at;
        for (int t = 0; t < num_ways(); ++t) there += std::max(0.0, x[items_[item].column + t]);
        if (there >= far_[other]) continue;
        far_[other] = there;
        via_[other] = item;
        from_[other] = u;
        queue.emplace(there, other);
      }
    }
  }

  // Adds the row  sum over k and u of weight(u, k) (y_vk - dist(v, u)) <= right,  with all terms on
  // one side:  entries of `right` + ... >= lower.
  template <class Weight>
  void AddSpread(int v,
                 std::span<const double> x,
                 const Entries& right,
                 double lower,
                 const Weight& weight,
                 std::vector<Row>& rows) {
    std::map<int, double> entries(right.begin(), right.end());
    double violation = lower;
    for (const auto& [column, amount] : right) violation -= amount * x[column];
    // Each item of the tree of paths has the total weight of the groups reached through it.
    behind_.resize(far_.size());
    for (auto u = reached_.rbegin(); u != reached_.rend(); ++u) behind_[*u] = 0;
    for (auto u = reached_.rbegin(); u != reached_.rend(); ++u) {
      for (int k = 0; k < num_classes(); ++k) {
        const double excess = x[share_[v][k]] - far_[*u];
        if (excess <= 0 || model_.upper[share_[*u][k]] == 0) continue;
        const double amount = weight(*u, k);
        violation += amount * excess;
        behind_[*u] += amount;
        entries[share_[v][k]] -= amount * kLess;
      }
      if (from_[*u] < 0 || behind_[*u] == 0) continue;
      behind_[from_[*u]] += behind_[*u];
      for (int t = 0; t < num_ways(); ++t) {
        entries[items_[via_[*u]].column + t] += behind_[*u] * kMore;
      }
    }
    if (violation < kLeastViolation) return;
    rows.push_back({violation, {entries.begin(), entries.end()}, lower});
  }

  const Problem& problem_;
  double unit_;
  std::vector<DeviceClass> classes_;
  std::vector<Way> ways_;
  std::vector<Item> items_;
  std::vector<std::vector<std::pair<int, int>>> links_;  // [num_groups] items and the other end
  LinearModel model_;
  int time_ = 0;                         // column
  std::vector<std::vector<int>> share_;  // [num_groups, num_classes] column
  std::vector<double> far_, behind_;     // [num_groups]
  std::vector<int> via_, from_;          // [num_groups] item and group before; -1: none
  std::vector<int> reached_;             // groups, nearest first
};

}  // namespace

bool NeedsSeveralDevices(const Problem& problem) {
  std::int64_t kept = 0, most = 0;
  for (int g = 0; g < problem.num_groups(); ++g) kept += problem.group_resident_bytes(g);
  for (const Device& device : problem.cluster().devices()) most = std::max(most, device.memory);
  return kept > most;
}

void ProveCuts(const Problem& problem,
               const DeviceMasks& masks,
               Nanos unit,
               const std::function<bool()>& stop,
               const std::function<bool(Nanos)>& told) {
  CutProgramme(problem, masks, unit).Run(stop, told);
}

}  // namespace emplace
