#pragma once

// The least transfers of the sets of groups whose load, cost plus transfers, is within a limit.
//
// A Lagrange factor relaxes the limit (M. Fisher, The Lagrangian relaxation method for solving
// integer programming problems, Management Science 27, 1981). Let M be the minimum of p c(S) + q
// t(S), 0 <= p < q, over some sets S of cost c(S) and transfers t(S). If c(S) + t(S) <= room, then
// t(S) >= (M - p room) / (q - p).

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// A set of groups, one side of a cut.
struct CutSet {
  std::vector<bool> has;  ///< [num_groups]
  Nanos cost = 0;         ///< sum over its groups [ns]
  Nanos transfers = 0;    ///< of the items with groups on both sides [ns]

  Nanos load() const { return cost + transfers; }
};

/// Number of cuts by which the best factor is sought.
inline constexpr int kMostCuts = 12;

/// Returns the factor r of the cost at which t(S) + r c(S) is the same for both sets.
/// @pre smaller.cost < larger.cost
inline double EqualFactor(const CutSet& smaller, const CutSet& larger) {
  return static_cast<double>(smaller.transfers - larger.transfers) /
         static_cast<double>(larger.cost - smaller.cost);
}

/// Returns a lower bound on the transfers of all sets with a load of at most `room`, by the best of
/// the factors p / whole. Two of the sets that are minimum for some factor matter: the one of most
/// cost within the room, and the one of least cost beyond it. Both are the same at the best factor.
/// @param least_set  returns the set of least whole * t(S) + p * c(S), for a p
/// @param within     first the set for p = whole, whose load is at most `room`; then the first set
/// @param beyond     first the set for p = 0, whose load is larger; then the second set
template <class LeastSet>
Nanos TransfersWithin(Nanos room,
                      Nanos whole,
                      const LeastSet& least_set,
                      CutSet& within,
                      CutSet& beyond) {
  Nanos best = beyond.transfers;
  for (int cut = 0; cut < kMostCuts && within.cost < beyond.cost; ++cut) {
    const double factor = EqualFactor(within, beyond) * static_cast<double>(whole);
    const Nanos p = std::clamp<Nanos>(static_cast<Nanos>(factor), 0, whole - 1);
    const auto value = [&](const CutSet& set) { return whole * set.transfers + p * set.cost; };
    CutSet set = least_set(p);
    const Nanos over = value(set) - p * room;
    if (over > 0) best = std::max(best, (over - 1) / (whole - p) + 1);
    if (value(set) >= std::min(value(within), value(beyond))) break;
    (set.load() <= room ? within : beyond) = std::move(set);
  }
  return best;
}

}  // namespace emplace
