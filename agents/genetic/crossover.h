#pragma once

// Crossover of placements that knows what a placement is: which groups are together matters, and
// which groups are connected; the names of equal devices do not.

#include "framework/base/random.h"
#include "framework/search/problem.h"

namespace emplace {

/// `b` with the devices renamed so that it resembles `a`: among devices of equal kind, memory and
/// slots, the pair (device of a, device of b) that shares groups of the most mean cost is matched
/// first, then the next, and so on. A group that may not run on its renamed device stays.
Placement MatchDevices(const Problem& problem, const Placement& a, const Placement& b);

/// A child of `a` and MatchDevices(a, b). Where they agree, the child is like both. Where not,
/// groups that exchange data and are on the same device in each of the two make a block, and each
/// block is that of `a` or that of `b`, each with probability 1/2.
///
/// References: E. Falkenauer, A Hybrid Grouping Genetic Algorithm for Bin Packing, Journal of
/// Heuristics 2 (1996), for what a gene is; P. Galinier, J.-K. Hao, Hybrid Evolutionary Algorithms
/// for Graph Coloring, Journal of Combinatorial Optimization 3 (1999), for labels without meaning.
Placement Crossover(const Problem& problem, const Placement& a, const Placement& b, Rng& rng);

}  // namespace emplace
