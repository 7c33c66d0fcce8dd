#pragma once

// Is the placement that wins in the simulation the one to use, although costs are estimates and the
// machine is not the model? The best placements of a run are simulated again
//
//   noise       with log-normal noise on the cost of every op and the speed of every link
//   semantics   in the other semantics, one scenario each (not for Objective::kPeriod, which has
//               none)
//   slow_links  with links of half the bandwidth and twice the latency
//
// and compared: do they keep their ranks, and what does the winner lose against what is best then?
// Afterwards an adversary (adversary.h) looks for the smallest change that makes the second win.

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

class RecordVisitor;  // framework/results/record.h

struct StressOptions {
  int draws = 100;     ///< of noise
  double noise = 0.1;  ///< DrawPerturbation()
  AdversaryOptions adversary;
  std::uint64_t seed = 0;  ///< of the noise and the adversary
  int jobs = 0;            ///< simulated at a time; 0: one per core. Changes no result
  /// Called with the parts of the work that are done and all of them; may be empty.
  std::function<void(int done, int total)> progress;
  std::function<bool()> stop;  ///< true: give up; may be empty
};

/// One kind of change. Regret: objective of a placement / that of the best placement then - 1. A
/// placement that does not fit then has no time: it ranks behind all that fit, with infinite
/// regret.
struct StressScenario {
  std::string name;                            ///< "noise", "semantics_stream", "slow_links"
  std::vector<std::vector<Nanos>> step_times;  ///< [draws][placements] kMaxNanos: does not fit [ns]
  /// Of the given ranks against those of a draw: Kendall's tau-b, mean over the draws in which it
  /// is defined; NaN: in none.
  double kendall_tau = 0;
  double top_share = 0;     ///< of the draws in which the winner is as good as any
  double regret = 0;        ///< of the winner, mean over the draws
  double worst_regret = 0;  ///< largest of these
  double regret_ns = 0;     ///< the same mean as time: winner - best [ns]

  void Visit(RecordVisitor& v);
};

struct StressResult {
  /// As given, equal placements once, those that do not fit left out; the best, the winner, first.
  std::vector<Candidate> placements;
  std::vector<Nanos> step_times;  ///< [placements] unchanged [ns]
  std::vector<StressScenario> scenarios;
  std::vector<double> noise_regret;    ///< [placements] mean over the draws of `noise`
  std::optional<Adversary> adversary;  ///< with two placements or more, unless it has no steps
};

/// @param problem     whose costs, cluster and objective are changed
/// @param how         how the run simulated it
/// @param candidates  placements of `problem`
/// @throws InputError if no candidate fits, RunError if `stop` says so
StressResult Stress(const std::shared_ptr<const Problem>& problem,
                    const SimulatorOptions& how,
                    const std::vector<Candidate>& candidates,
                    const StressOptions& options);

/// Regret of each placement. @param step_times  [placements] of one draw [ns]
std::vector<double> RegretsOf(const std::vector<Nanos>& step_times);

}  // namespace emplace
