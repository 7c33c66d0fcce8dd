#pragma once

// The proof of `emplace certify`: a lower bound on the objective of one problem, simulated in one
// way, that is as large as the time allows. Methods, in this order:
//
//   quick bounds       ProveBound() (framework/bounds/lower_bound.h) without time
//   branch and bound   for half of the time: the agent of that name (agents/branch_and_bound/)
//   segments, cuts     ProveBound() with the time that is left; the program of a period likewise
//   branch and bound   resumes if that ends early
//
// Branch and bound is left out for more than kMostTreeGroups groups. It proves bounds of one issue
// order: where searches may choose the order (SimulatorOptions::order_may_change) it gets for each
// placement, in the place of the step time, a bound that holds in every order (PartialBound,
// framework/bounds/partial_bound.h). The proof then ends with a bound that may be below the
// optimum.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/base/interrupt.h"
#include "framework/base/time.h"
#include "framework/bounds/lower_bound.h"
#include "framework/search/problem.h"
#include "simulator/simulator.h"

namespace emplace {

inline constexpr int kMostTreeGroups = 512;

struct ProofTask {
  std::shared_ptr<const Problem> problem;
  SimulatorOptions how;       ///< how its placements are simulated
  std::optional<Nanos> best;  ///< objective of the best known placement that fits [ns]
  LowerBound proved;          ///< known so far
  double seconds = 0;         ///< [s]
  Interrupt interrupt;
  /// Called with each better bound, if set.
  std::function<void(const LowerBound&)> improved;
};

/// The result of a proof.
struct Certificate {
  LowerBound bound;
  /// Objective of a placement that branch and bound found and that is better than the best known
  /// one. [ns]
  std::optional<Nanos> better;
  /// Why the proof ended: "the best placement is proven optimal by branch_and_bound", "time is up",
  /// ...
  std::string ended;
};

/// @throws Interrupted; each bound was handed to `improved` before
Certificate ProveInTime(const ProofTask& task);

}  // namespace emplace
