#include "framework/bounds/work_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/error.h"
#include "framework/bounds/mip.h"

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
    LinearModel model;
    std::vector<std::pair<int, double>> slots, row;
    for (int k = 0; k < num_kinds_; ++k) {
      slots.emplace_back(model.AddColumn(0, 0, kNoLimit), slots_[k]);
    }
    const int t = model.AddColumn(-1, -kNoLimit, kNoLimit);
    for (const auto& cut : cuts) {
      row.clear();
      for (int k = 0; k < num_kinds_; ++k) row.emplace_back(k, cut[k] / unit);
      row.emplace_back(t, -1);
      model.AddRow(0, kNoLimit, row);
    }
    model.AddRow(1, 1, slots);
    // With the usual tolerance of 1e-7, violated cuts count as satisfied and the bound is too low.
    LinearProgramme programme(model, /*tolerance=*/1e-12);
    EMPLACE_CHECK(programme.Solve({}) == LinearProgramme::Status::kOptimal,
                  "the work bound's linear program has an optimum");
    const std::span<const double> solution = programme.solution();
    std::copy_n(solution.begin(), num_kinds_, prices.begin());
    return solution[t] * unit;
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
