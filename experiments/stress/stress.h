#pragma once

// Tests whether the best placement of the simulation stays the best, since costs are estimates and
// the machine differs from the model. The best placements of a run are simulated again
//
//   noise       with log-normal noise on the cost of every op and the speed of every link
//   semantics   in the other semantics, one scenario each (not for Objective::kPeriod, which has
//               none)
//   slow_links  with links of half the bandwidth and twice the latency
//
// The results are the stability of the ranks, and the loss of the winner against the best placement
// of each scenario. Finally an adversary (adversary.h) searches for the smallest change under which
// the second placement wins.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/candidate.h"
#include "experiments/stress/adversary.h"
#include "simulator/simulator.h"

namespace emplace {

struct StressOptions {
  int draws = 100;     ///< of noise
  double noise = 0.1;  ///< DrawPerturbation()
  AdversaryOptions adversary;
  std::uint64_t seed = 0;  ///< of the noise and the adversary
  int jobs = 0;            ///< concurrent simulations; 0: one per core. Does not change the result
  /// Called with the numbers of done and of all parts of the work; may be empty.
  std::function<void(int done, int total)> progress;
  std::function<bool()> stop;  ///< true: abort; may be empty
};

/// One kind of change. Regret: objective of a placement / objective of the best placement in the
/// same draw - 1. A placement that does not fit in a draw has no time: it ranks after all that fit,
/// with infinite regret.
struct StressScenario {
  std::string name;                            ///< "noise", "semantics_stream", "slow_links"
  std::vector<std::vector<Nanos>> step_times;  ///< [draws][placements] kMaxNanos: does not fit [ns]
  /// Kendall's tau-b between the given ranks and those of a draw, mean over the draws in which it
  /// is defined; NaN: in none.
  double kendall_tau = 0;
  double top_share = 0;     ///< share of the draws in which no placement is better than the winner
  double regret = 0;        ///< of the winner, mean over the draws
  double worst_regret = 0;  ///< of the winner, largest over the draws
  double regret_ns = 0;     ///< mean of winner - best over the draws [ns]

  void Visit(RecordVisitor& v);
};

/// The group /stress of a results file, without its provenance. Each scenario has a group of its
/// own.
struct StressResult {
  std::uint64_t seed = 0;            ///< StressOptions::seed
  double noise = 0;                  ///< StressOptions::noise
  std::vector<std::string> labels;   ///< of the given placements that fit, without duplicates, the
                                     ///< best (the winner) first
  std::vector<Nanos> step_times;     ///< [placements] without changes [ns]
  std::vector<double> noise_regret;  ///< [placements] mean over the draws of `noise`
  std::optional<Adversary> adversary;     ///< with two placements or more, and steps > 0
  std::vector<StressScenario> scenarios;  ///< `noise` is the first

  void Visit(RecordVisitor& v);
};

/// Simulates the placements under all changes.
/// @param problem     its costs, cluster and objective are changed
/// @param how         options of the run's simulation
/// @param candidates  placements of `problem`
/// @throws InputError if no candidate fits, RunError if `stop` returns true
StressResult Stress(const std::shared_ptr<const Problem>& problem,
                    const SimulatorOptions& how,
                    const std::vector<Candidate>& candidates,
                    const StressOptions& options);

/// Returns the regret of each placement. @param step_times  [placements] of one draw [ns]
std::vector<double> RegretsOf(const std::vector<Nanos>& step_times);

}  // namespace emplace
