#pragma once

// The proof of `emplace certify`, and in a tenth of the time of `emplace run`: the largest lower
// bound on the objective of one problem, simulated in one way, that the methods prove in the given
// time. Methods, in this order:
//
//   quick bounds       ProveBound() (framework/bounds/lower_bound.h) without time
//   branch and bound   for half of the time: the agent of that name (agents/branch_and_bound/);
//                      for a tenth of the time if the objective is the period
//   segments, cuts     ProveBound() with the rest of the time; the programs of a period likewise,
//                      which also find placements
//   branch and bound   resumes if the other methods end early
//
// Branch and bound is skipped if there are more than kMostTreeGroups groups. It proves bounds for
// one issue order. If searches may choose the order (SimulatorOptions::order_may_change), the step
// time of each placement is replaced by a bound that holds in every order (PartialBound,
// framework/bounds/partial_bound.h). The final bound may then be below the optimum.

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
  SimulatorOptions how;       ///< options of the simulation of its placements
  std::optional<Nanos> best;  ///< objective of the best known placement that fits [ns]
  LowerBound proved;          ///< the best bound known so far
  double seconds = 0;         ///< [s]
  Interrupt interrupt;
  /// Called with each better bound, if set.
  std::function<void(const LowerBound&)> improved;
};

/// A placement that a proof found, better than the best known one.
struct FoundPlacement {
  Nanos objective = 0;  ///< [ns]
  std::string agent;    ///< a run of this agent keeps it
};
/// Returns a sentence about it.
/// @param best  objective of the best known placement [ns]
std::string FormatFound(const FoundPlacement& found, std::optional<Nanos> best);

/// The result of a proof.
struct Certificate {
  LowerBound bound;
  std::optional<FoundPlacement> found;
  /// Why the proof ended: "time is up", "the best placement is proven optimal by METHOD", ...
  std::string ended;
};

/// @throws Interrupted; each bound was passed to `improved` before
Certificate ProveInTime(const ProofTask& task);

}  // namespace emplace
