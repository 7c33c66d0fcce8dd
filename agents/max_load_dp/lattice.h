#pragma once

// The order of the groups that chain_split.h splits, and the lattice of its ideals.

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/search/compiled_period.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns the devices that take part in the split: of all sets of devices on which some group may
/// run, the set m with the largest |m| * (cost of the groups that may run on all of m). Bit d:
/// device d.
std::uint64_t SharedDevices(const Problem& problem);

/// Returns the groups that may run on all of `devices`, in the total order of their positions
/// (chain_split.h).
std::vector<int> OrderByPlace(const Problem& problem, std::uint64_t devices);

/// The input of a split: elements, each a list of groups, and the ideals of their order.
struct Lattice {
  std::vector<std::vector<int>> elements;
  /// The ideals are sorted by size, the empty one first. Below is an ideal with one element less,
  /// and that element.
  struct Below {
    int element, ideal;
  };
  std::vector<std::vector<Below>> below;  ///< [ideals]
};

/// Returns the ideals of a linear order with at most 1,000 cuts, at equal distances in cost.
Lattice ChainLattice(const Problem& problem, const std::vector<int>& order);

/// Returns all ideals of the order given by the items; nullopt if there are more than `max_ideals`.
/// @param order  groups; the order of two groups that exchange an item is their order here
/// @throws Interrupted
std::optional<Lattice> IdealLattice(const CompiledPeriod& problem,
                                    const std::vector<int>& order,
                                    int max_ideals,
                                    const Interrupt& interrupt);

}  // namespace emplace
