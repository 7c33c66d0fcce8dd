#include "framework/bounds/work_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <Clp_C_Interface.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

// The dual of the work bound. With a price p_k per ns on each kind k and sum_k slots_k p_k = 1,
//
//   T >= f(p) = sum_j min_k p_k c_jk
//
// by weak duality. So every price vector proves a bound, and the best prices reach the optimum of
// the linear program. f is concave, piecewise linear and homogeneous. Kelley's cutting planes end
// after a few dozen rounds: each cut is one assignment of jobs to kinds, and the master program has
// one variable per kind. Floating-point errors of its solver can only choose worse prices, since
// the bound is summed in integers (Value).
class WorkProgramme {
 public:
  WorkProgramme(const Cluster& cluster, std::span<const Nanos> costs) {
    std::vector<int> kinds;
    const int num_devices = cluster.num_devices();
    for (int d = 0; d < num_devices; ++d) {
      const auto k = std::find(kinds.begin(), kinds.end(), cluster.device(d).kind) - kinds.begin();
      if (k == std::ssize(kinds)) {
        kinds.push_back(cluster.device(d).kind);
        slots_.push_back(0);
      }
      slots_[k] += cluster.device(d).slots;
      kind_of_device_.push_back(static_cast<int>(k));
    }
    num_kinds_ = static_cast<int>(kinds.size());
    const size_t num_jobs = costs.size() / num_devices;
    costs_.assign(num_jobs * num_kinds_, kMaxNanos);
    for (size_t j = 0; j < num_jobs; ++j) {
      for (int d = 0; d < num_devices; ++d) {
        Nanos& cost = costs_[j * num_kinds_ + kind_of_device_[d]];
        cost = std::min(cost, costs[j * num_devices + d]);
      }
    }
  }

  WorkBound Solve() {
    std::vector<double> prices;
    for (int k = 0; k < num_kinds_; ++k) prices.push_back(1.0 / (num_kinds_ * slots_[k]));
    WorkBound best;
    const auto improve = [&] {
      const Nanos value = Value(prices);
      if (value <= best.time && !best.price.empty()) return;
      best.time = value;
      best.price.clear();
      for (int k : kind_of_device_) best.price.push_back(prices[k]);
    };
    improve();
    if (num_kinds_ == 1) return best;
    constexpr int kMaxCuts = 500;
    double reached = 0;
    std::vector<std::vector<double>> cuts;
    while (static_cast<int>(cuts.size()) < kMaxCuts) {
      std::vector<double> cut = Cut(prices);
      // The master program already has this cut, so its prices are optimal.
      if (std::find(cuts.begin(), cuts.end(), cut) != cuts.end()) break;
      cuts.push_back(std::move(cut));
      double value = 0;
      for (int k = 0; k < num_kinds_; ++k) value += cuts.back()[k] * prices[k];
      reached = std::max(reached, value);
      const double limit = SolveMaster(cuts, prices);
      improve();
      if (limit - reached <= 1e-12 * limit) break;
    }
    return best;
  }

 private:
  std::span<const Nanos> Row(size_t j) const {
    return {&costs_[j * num_kinds_], size_t(num_kinds_)};
  }
  size_t num_jobs() const { return costs_.size() / num_kinds_; }

  // Returns the sum of the costs of the jobs that are cheapest on each kind. [num_kinds]
  std::vector<double> Cut(const std::vector<double>& prices) const {
    std::vector<double> sums(num_kinds_, 0);
    for (size_t j = 0; j < num_jobs(); ++j) {
      const auto row = Row(j);
      int cheapest = -1;
      for (int k = 0; k < num_kinds_; ++k) {
        if (row[k] >= kMaxNanos) continue;
        if (cheapest < 0 || prices[k] * row[k] < prices[cheapest] * row[cheapest]) cheapest = k;
      }
      sums[cheapest] += static_cast<double>(row[cheapest]);
    }
    return sums;
  }

  // Returns the bound that (rounded) prices prove, in exact integer arithmetic, rounded up.
  Nanos Value(const std::vector<double>& prices) const {
    std::vector<std::int64_t> weights;
    __int128 scale = 0;
    for (int k = 0; k < num_kinds_; ++k) {
      weights.push_back(std::llround(std::max(prices[k], 0.0) * 0x1p44));
      scale += static_cast<__int128>(weights[k]) * slots_[k];
    }
    if (scale == 0) return 0;
    // Quotient and remainder are summed separately, since a sum of products could exceed 128 bits.
    __int128 whole = 0, rest = 0;
    for (size_t j = 0; j < num_jobs(); ++j) {
      const auto row = Row(j);
      __int128 least = -1;
      for (int k = 0; k < num_kinds_; ++k) {
        if (row[k] >= kMaxNanos) continue;
        const __int128 priced = static_cast<__int128>(weights[k]) * row[k];
        if (least < 0 || priced < least) least = priced;
      }
      whole += least / scale;
      rest += least % scale;
    }
    return static_cast<Nanos>(whole + (rest + scale - 1) / scale);
  }

  // max t  s.t.  t <= cut * prices for every cut,  sum_k slots_k prices_k = 1,  prices >= 0.
  double SolveMaster(const std::vector<std::vector<double>>& cuts,
                     std::vector<double>& prices) const {
    double unit = 0;  // keeps the coefficients near 1
    for (const auto& cut : cuts) unit = std::max(unit, *std::max_element(cut.begin(), cut.end()));
    if (unit == 0) return 0;
    // Columns: one price per kind, and t. Rows: cut * prices / unit - t >= 0, and the sum.
    const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> lp(Clp_newModel(), Clp_deleteModel);
    const int columns = num_kinds_ + 1, rows = static_cast<int>(cuts.size()) + 1;
    std::vector<CoinBigIndex> starts;
    std::vector<int> row_of;
    std::vector<double> values;
    for (int k = 0; k < columns; ++k) {
      starts.push_back(static_cast<CoinBigIndex>(values.size()));
      for (int i = 0; i < rows; ++i) {
        const bool is_sum = i + 1 == rows, is_price = k < num_kinds_;
        if (is_sum && !is_price) continue;
        row_of.push_back(i);
        values.push_back(is_sum ? slots_[k] : is_price ? cuts[i][k] / unit : -1);
      }
    }
    starts.push_back(static_cast<CoinBigIndex>(values.size()));
    constexpr double kInfinite = std::numeric_limits<double>::max();
    std::vector<double> least(columns, 0), most(columns, kInfinite), objective(columns, 0);
    least.back() = -kInfinite;
    objective.back() = 1;
    std::vector<double> row_least(rows, 0), row_most(rows, kInfinite);
    row_least.back() = row_most.back() = 1;
    Clp_setLogLevel(lp.get(), 0);
    Clp_loadProblem(lp.get(),
                    columns,
                    rows,
                    starts.data(),
                    row_of.data(),
                    values.data(),
                    least.data(),
                    most.data(),
                    objective.data(),
                    row_least.data(),
                    row_most.data());
    // With the usual tolerance of 1e-7, violated cuts count as satisfied and the bound is too low.
    constexpr double kTolerance = 1e-12;
    Clp_setPrimalTolerance(lp.get(), kTolerance);
    Clp_setDualTolerance(lp.get(), kTolerance);
    Clp_setOptimizationDirection(lp.get(), -1);
    Clp_dual(lp.get(), 0);
    EMPLACE_CHECK(Clp_status(lp.get()) == 0, "the work bound's linear programme has an optimum");
    const double* solution = Clp_getColSolution(lp.get());
    for (int k = 0; k < num_kinds_; ++k) prices[k] = solution[k];
    return Clp_objectiveValue(lp.get()) * unit;
  }

  int num_kinds_ = 0;
  std::vector<int> slots_;  // [num_kinds] of all devices of the kind
  std::vector<int> kind_of_device_;
  std::vector<Nanos> costs_;  // [num_jobs, num_kinds]
};

}  // namespace

WorkBound BoundWork(const Cluster& cluster, std::span<const Nanos> costs) {
  return WorkProgramme(cluster, costs).Solve();
}

}  // namespace emplace
