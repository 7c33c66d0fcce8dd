#pragma once

// Definitions shared by the bounds of the period (period_bound.h).

#include <algorithm>
#include <span>
#include <utility>

#include "framework/base/time.h"
#include "framework/search/compiled_period.h"

namespace emplace {

/// Columns of times have this many periods as upper bound; unbounded ones would prevent a proof.
inline constexpr double kMostPeriods = 1000;
/// Costs and times are rounded when they become coefficients. The least period is proportional to
/// them, so at least this share of it remains.
inline constexpr double kCoefficients = 1 - 1e-14;

/// The times of an item between devices [ns].
struct ItemTimes {
  ItemTimes(const CompiledPeriod& problem, int item)
      : p(problem), row(problem.transfer_time.data() + problem.times[item]) {}
  /// @pre from != to
  Nanos at(int from, int to) const { return row[p.path[from * p.num_devices + to]]; }
  /// Returns the minimum and the maximum over the accepted pairs of devices; 0 and 0 without any.
  /// @param accept  bool(int from, int to)
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
  /// Returns the minimum over all pairs.
  Nanos least() const {
    return Range([](int, int) { return true; }).first;
  }

  const CompiledPeriod& p;
  const Nanos* row;  ///< [num_paths]
};

/// Returns the least time of an item from one of some devices to one of others. [ns]
inline Nanos LeastTime(const ItemTimes& times, std::span<const int> from, std::span<const int> to) {
  Nanos least = kMaxNanos;
  for (const int source : from) {
    for (const int reader : to) least = std::min(least, times.at(source, reader));
  }
  return least;
}

/// Returns the least cost of a group on the accepted devices; kMaxNanos if it may run on none. [ns]
/// @param accept  bool(int device)
template <class Accept>
Nanos LeastCost(const CompiledPeriod& p, int group, const Accept& accept) {
  Nanos least = kMaxNanos;
  for (int d = 0; d < p.num_devices; ++d) {
    if (accept(d)) least = std::min(least, p.problem.group_cost(group, d));
  }
  return least;
}

}  // namespace emplace
