#pragma once

// Pieces of search for the period objective (simulator/README.md, "The second objective: pipelined
// steps"): problems of clusters of groups, and annealing with moves of O(degree). Where transfers
// cost more than ops, no move of one group is any good: clusters of groups that exchange much move
// together, and finer levels correct the borders.
//
// Reference: G. Karypis, V. Kumar, Multilevel k-way Hypergraph Partitioning, VLSI Design 11 (2000);
// Y. Akhremtsev, T. Heuer, P. Sanders, S. Schlag, Engineering a direct k-way Hypergraph
// Partitioning Algorithm, ALENEX 2017 (ratings, limits).

#include <memory>
#include <span>
#include <vector>

#include "framework/base/interrupt.h"
#include "framework/base/random.h"
#include "framework/search/compiled_period.h"
#include "framework/search/outcome_table.h"
#include "framework/search/problem.h"

namespace emplace {

/// A problem whose groups are clusters of a finer problem's groups.
struct PeriodLevel {
  explicit PeriodLevel(std::shared_ptr<const Problem> of_problem);

  std::shared_ptr<const Problem> problem;
  CompiledPeriod compiled;
  std::vector<int> cluster_of;  ///< [groups of the finer level] -> group here; empty: the finest
};

/// The problem in which groups of equal label are one. @param label  [num_groups] any integers;
/// groups of one label share an allowed device
std::unique_ptr<PeriodLevel> Contract(const Problem& problem, std::span<const int> label);

struct CoarsenOptions {
  double max_cost = 0;  ///< of a cluster, mean over its devices, unless it is one group [ns]
  int enough = 0;       ///< stop at this many clusters
};

/// Levels from the finest, `finest`, to the coarsest. Groups join, in random order, the neighbour
/// cluster r with the largest sum over common items of time / (pins - 1), over its cost.
/// @param keep_apart  [num_groups] groups of different labels are never joined; empty: all may be
std::vector<std::shared_ptr<const PeriodLevel>> Coarsen(std::shared_ptr<const PeriodLevel> finest,
                                                        std::span<const int> keep_apart,
                                                        const CoarsenOptions& options,
                                                        Rng& rng);

struct PeriodAnnealing {
  double hot = 0.1, cold = 1e-3;  ///< first and last temperature, relative to the period
  double norm_hot = 8;            ///< first and last exponent of the energy's norm
  double norm_cold = 1000;
  std::int64_t proposals = 0;
};

Score ScoreOf(const PeriodTotals& totals, const CompiledPeriod& problem);

/// Anneals a placement of a level and leaves the best that it met, by (deficit, period), the start
/// included. The energy is the norm (sum over devices of load^n)^(1/n) over the period at the
/// start, plus missing memory: it sees loads below the largest one, and less and less of them as n
/// grows. Proposed are moves of one group, mostly to where it exchanges items, of two that change
/// places, and of groups that follow one another in topological order.
void Anneal(const CompiledPeriod& problem,
            const PeriodAnnealing& options,
            std::vector<DeviceIndex>& device,
            Rng& rng,
            const Interrupt& interrupt);

}  // namespace emplace
