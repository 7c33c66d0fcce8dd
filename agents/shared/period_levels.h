#pragma once

// Building blocks of searches for the period objective (simulator/README.md, "The second objective:
// pipelined steps"): problems whose groups are clusters of groups, and annealing with moves of
// O(degree). Where transfers cost more than ops, moving a single group never helps. Clusters of
// groups that exchange much data therefore move together, and finer levels correct their borders.
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
  std::vector<int> cluster_of;  ///< [groups of the finer level] -> group here; empty for the finest
};

/// Returns the problem in which all groups of equal label are merged into one.
/// @param label  [num_groups] any integers; groups of one label share an allowed device
std::unique_ptr<PeriodLevel> Contract(const Problem& problem, std::span<const int> label);

struct CoarsenOptions {
  double max_cost = 0;  ///< of a cluster of several groups, mean over its devices [ns]
  int enough = 0;       ///< stop at this many clusters
};

/// Returns the levels from `finest` to the coarsest. In random order, groups join the neighbour
/// cluster with the largest sum, over the common items, of time / (pins - 1), divided by the
/// cluster's cost.
/// @param keep_apart  [num_groups] groups of different labels are never joined; empty: no limits
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

/// Anneals a placement of a level. On return `device` is the best placement visited (the start
/// included) by (deficit, period). The energy is the norm (sum over devices of load^n)^(1/n),
/// divided by the period at the start, plus a penalty for missing memory. For small n it also
/// depends on loads below the largest one; their influence falls as n grows. Moves: one group,
/// mostly to the device of a group with which it exchanges items; two groups that swap devices;
/// several groups that follow one another in topological order.
void Anneal(const CompiledPeriod& problem,
            const PeriodAnnealing& options,
            std::vector<DeviceIndex>& device,
            Rng& rng,
            const Interrupt& interrupt);

}  // namespace emplace
