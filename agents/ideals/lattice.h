#pragma once

// The order of the groups that chain_split.h cuts, and the lattice of its ideals.

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// The devices that are shared out: the set m with the largest |m| * (cost of the groups that may
/// run on all of m), of the sets that groups may run on. Bit d: device d.
std::uint64_t SharedDevices(const Problem& problem);

/// Groups that may run on all of `devices` by their places (chain_split.h): the total order.
std::vector<int> OrderByPlace(const Problem& problem, std::uint64_t devices);

/// What is cut into pieces: elements, which are lists of groups, and the ideals of their order.
struct Lattice {
  std::vector<std::vector<int>> elements;
  /// Ideals by size, the empty one first. Of each: the ideals with one element less, and which.
  struct Below {
    int element, ideal;
  };
  std::vector<std::vector<Below>> below;  ///< [ideals]
};

/// The ideals of a linear order, cut at 1,000 places of equal cost at most.
Lattice ChainLattice(const Problem& problem, const std::vector<int>& order);

/// All ideals of the order by items; empty if there are more than `max_ideals`.
/// @param order  groups; of two that exchange an item the former is before the latter
/// @throws Interrupted
std::optional<Lattice> IdealLattice(const CompiledPeriod& problem,
                                    const std::vector<int>& order,
                                    int max_ideals,
                                    const Interrupt& interrupt);

}  // namespace emplace
