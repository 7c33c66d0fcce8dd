#pragma once

// Coarser problems: the same graph, machine and costs, with fewer and larger groups.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/base/random.h"
#include "framework/graph/graph.h"
#include "framework/search/evaluator.h"
#include "framework/search/forwarding_evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Runs one round of heavy-edge clustering. In random order, each group that is still alone joins
/// the neighbouring cluster with the highest rating
///
///   (bytes + b)^2 / ((w + m) (w' + m)),
///
/// where w and w' are the mean costs of the group and the cluster, m is a hundredth of the mean
/// cost of a group, and b is a hundredth of the mean bytes of an edge, so that groups without cost
/// or bytes find a partner, too. Both must share an allowed device, and together cost at most
/// `limit`. The rating is that of M. Holtgrewe, P. Sanders, C. Schulz, Engineering a Scalable High
/// Quality Graph Partitioner, IPDPS 2010.
/// @param problem    must outlive the coarser problem, as must the problem it was made from
/// @param placement  if not null, only groups on the same device join
/// @return a coarser problem, or null if the number of groups fell by less than a twentieth
std::shared_ptr<const Problem> CoarserProblem(const Problem& problem,
                                              const Placement* placement,
                                              double limit,
                                              Rng& rng);

/// Returns the placement of a finer problem's groups.
/// @param coarse  has coarser groups of the same ops
Placement Refine(const Placement& placement, const Problem& coarse, const Problem& fine);
/// Returns the placement of a coarser problem's groups.
/// @param placement  has all groups of each coarser group on one device
Placement Coarsen(const Placement& placement, const Problem& fine, const Problem& coarse);

/// Evaluates placements of a coarser problem as placements of the original one. Both have the same
/// ops, so that issue orders are forwarded unchanged.
class LevelEvaluator final : public ForwardingEvaluator {
 public:
  /// @param fine    evaluator of the original problem; it and `coarse` must outlive this object
  LevelEvaluator(Evaluator& fine, const Problem& coarse);
  const Problem& problem() const override { return coarse_; }
  void Evaluate(std::span<const Placement> placements,
                std::span<Outcome> outcomes,
                const OutcomeDetail& detail = {}) override;
  using Evaluator::Evaluate;
  void EvaluateRows(const PlacementRows& placements, const OutcomeColumns& outcomes) override;
  void EvaluateNeighbors(const Neighbors& neighbors, const OutcomeColumns& outcomes) override;
  /// Runs each search with an evaluator of the coarser problem.
  void RunConcurrently(std::span<const ConcurrentSearch> searches) override;

 private:
  const Problem& coarse_;
  Adjacency members_;  // [coarse groups] original groups
  // Buffers of one call.
  std::vector<Placement> placements_;
  std::vector<DeviceIndex> rows_;
  std::vector<int> begin_;
  std::vector<Move> moves_;
};

}  // namespace emplace
