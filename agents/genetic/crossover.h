#pragma once

// Crossover of placements. It uses which groups are together and which are connected, and ignores
// the names of interchangeable devices.

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns `b` with its devices renamed so that it resembles `a`. Among devices of equal kind,
/// memory and slots, the pair (device of a, device of b) whose common groups have the largest mean
/// cost is matched first, then the next, and so on. A group that is not allowed on its renamed
/// device stays.
Placement MatchDevices(const Problem& problem, const Placement& a, const Placement& b);

/// Returns a child of `a` and MatchDevices(a, b). Where the parents agree, the child equals both.
/// Of the other groups, those that exchange data and are on the same device in each of the two
/// parents form a block; each block is taken from `a` or `b` with probability 1/2.
///
/// References: E. Falkenauer, A Hybrid Grouping Genetic Algorithm for Bin Packing, Journal of
/// Heuristics 2 (1996), for the choice of the genes; P. Galinier, J.-K. Hao, Hybrid Evolutionary
/// Algorithms for Graph Coloring, Journal of Combinatorial Optimization 3 (1999), for
/// interchangeable labels.
Placement Crossover(const Problem& problem, const Placement& a, const Placement& b, Rng& rng);

}  // namespace emplace
