#include "framework/bounds/spreading.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "framework/bounds/mip.h"
#include "framework/bounds/period_programme.h"
#include "framework/bounds/period_terms.h"

namespace emplace {
namespace {

constexpr double kSpread = 1e-4;  // least violation of an inequality that is added
constexpr std::size_t kRowsPerRound = 60;
constexpr double kLeastSpreadingGain = 2e-4;  // in ten rounds; below it, the proof ends

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
        if (value < before + kLeastSpreadingGain) return;
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
    for (int g = 0; g < p_.num_groups; ++g) {
      cost_.push_back(LeastCost(p_, g, [](int) { return true; }));
    }
    links_.resize(p_.num_groups);
    for (int i = 0; i < p_.num_items; ++i) {
      const Nanos least = ItemTimes(p_, i).least();
      time_.push_back(least);
      if (least == 0) continue;  // may be cut at no cost
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
        if (cost >= known_) continue;  // it is not there in any smaller period
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
      // Each item of the tree of paths has the total cost of the groups reached through it.
      Row row{violation, right, {{period_, 1}}};
      for (const int u : reached) weight[u] = static_cast<double>(cost_[u]) / unit_;
      std::vector<std::pair<int, double>> entries;
      for (auto u = reached.rbegin(); u != reached.rend(); ++u) {
        if (from[*u] < 0) continue;
        weight[from[*u]] += weight[*u];
        // Rounded up by more than the sum's rounding error, so that the inequality is not too
        // strong.
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
    if (rows.size() > kRowsPerRound) {  // half are the most violated, half evenly from the others
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
  std::vector<int> length_;               // [num_items] column; -1: may be cut at no cost
  std::vector<Nanos> cost_, time_;        // [num_groups], [num_items] least [ns]
  std::vector<std::vector<Link>> links_;  // [num_groups] by items with a cost of cutting
  std::vector<int> pins_;
};

}  // namespace

void ProveSpreading(const CompiledPeriod& problem,
                    Nanos known,
                    const std::function<bool()>& stop,
                    const std::function<bool(Nanos)>& told) {
  Spreading(problem, known).Run(stop, told);
}

}  // namespace emplace
