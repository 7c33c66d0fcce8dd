#pragma once

// Verification: placements are executed on the devices, and each is compared with its simulation.

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/machine/step_traits.h"
#include "experiments/problem/step_interval.h"
#include "experiments/run/candidate.h"
#include "framework/search/evaluator.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/calibrate.h"
#include "profilers/statistics/fidelity.h"
#include "profilers/statistics/paired_ratio.h"
#include "profilers/statistics/residuals.h"
#include "simulator/simulator.h"

namespace emplace {

/// How placements are executed.
struct VerificationOptions {
  int rounds = 10;        ///< steps of each placement, one of each per round
  int traced_rounds = 3;  ///< further rounds that measure every op; they count for no step time
  int warmup = 2;         ///< steps of each placement before, not measured
  /// Further placements, executed in the same rounds: their steps tell what ops and copies take
  /// while the machine is in the state in which the others are measured. Those that do not fit are
  /// left out.
  std::vector<LabelledPlacement> calibration;
  DispatchMode mode = DispatchMode::kGraph;
  /// [num_ops] op ids in the order in which placements are simulated and executed that have none of
  /// their own (Candidate::issue_order); empty: by id.
  std::vector<int> issue_order;
  /// Called with the steps done and those planned; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  std::function<bool()> stop;  ///< true: give up; may be empty
};

/// A placement that was executed.
struct VerifiedPlacement {
  Candidate candidate;
  Outcome simulated;                            ///< as executed (SemanticsAsExecuted())
  StepMeasurement measured;                     ///< without plan and traces, which are large
  RungShares shares{};                          ///< of the simulated ops' time by source
  std::array<double, kNumStepTraits> traits{};  ///< of the simulated step
};

/// (simulated - measured) / measured step time.
double SignedError(const VerifiedPlacement& placement);

/// What was executed together, and all that it says.
struct Verification {
  std::shared_ptr<const Problem> problem;
  DispatchMode mode = DispatchMode::kGraph;
  std::vector<int> issue_order;  ///< of VerificationOptions
  int rounds = 0;
  std::vector<VerifiedPlacement> placements;  ///< those that can be executed, in the given order
  /// Those of VerificationOptions::calibration that were executed.
  std::vector<CalibrationPlacement> calibration;
  /// Of the simulated step times; the caller sets it, from placements that are none of these.
  StepInterval interval{{}, "no placements were held out"};
  /// Warnings of the caller; they precede those of the summary.
  std::vector<std::string> warnings;
  std::vector<std::string> unfitting;  ///< "random 3: OOM (missing 1.20 GiB on gpu:0)"
  std::vector<ClockReading> clocks_before, clocks_after;
  /// How the machine changed meanwhile: the first placement is measured alone at the beginning and
  /// at the end, and this is the ratio of the medians, end / beginning - 1.
  double reference_drift = 0;
  double seconds = 0;  ///< that all of it took [s]
};

/// Simulates all candidates and executes those that fit.
/// @throws InputError as Executor does, and if no candidate can be executed
/// @throws RunError if a device fails or `stop` says so
Verification Verify(std::shared_ptr<const Problem> problem,
                    std::shared_ptr<Backend> backend,
                    std::span<const Candidate> candidates,
                    const VerificationOptions& options);

/// Simulates the executed placements anew.
/// @param problem  of the same graph, groups and devices; with other costs or channels
void SimulateAgain(Verification& verification, std::shared_ptr<const Problem> problem);

/// Verify() with a progress bar on stderr.
/// @param options  `progress` is replaced   @param enabled  whether the bar is shown
Verification VerifyWithProgress(std::shared_ptr<const Problem> problem,
                                std::shared_ptr<Backend> backend,
                                std::span<const Candidate> candidates,
                                VerificationOptions options,
                                bool enabled);

/// The figures of a verification. Errors are |simulated - measured| / measured.
struct VerificationSummary {
  std::optional<Fidelity> fidelity;  ///< if there are two placements or more; so has `pairs`
  double mape = 0, max_error = 0;    ///< mean and largest error of the step times
  /// Mean error of each device's busy time, over the placements in which it is busy for at least
  /// kBusyShare of the step; NaN for a device that never is. [num_devices]
  std::vector<double> busy_error;
  int equal_peaks = 0;  ///< placements whose simulated peak memory is the executor's on all devices
  double arena_overhead = 0;  ///< sum of arenas / sum of peaks - 1
  double proxy_share = 0;     ///< of the ops' measured time that ran on stand-in kernels
  RungShares shares{};        ///< of the simulated ops' time, mean over the placements
  double clock_change = 0;    ///< largest relative change of a device's clock
  double reference_drift = 0;
  double busy_ratio = 1;  ///< measured / simulated busy time over all devices and placements
  /// The placements compared with one another round by round.
  std::optional<PairedFidelity> pairs;
  /// ResolvedDifference() of the placements; infinite: there are too few.
  double resolved = std::numeric_limits<double>::infinity();
  std::string verdict;  ///< VerdictOf() all of this (verdict.h)
  /// What became of the intervals, if there are any.
  std::optional<IntervalFidelity> intervals;
  /// What the errors go with, if there are three placements or more.
  std::optional<ResidualReport> residuals;
  /// Verification::warnings; clock or drift beyond kSteady, busy_ratio beyond kSlower.
  std::vector<std::string> warnings;
};
inline constexpr double kBusyShare = 0.01;
inline constexpr double kSteady = 0.05;
inline constexpr double kSlower = 1.2;

/// Computes the figures.
VerificationSummary Summarize(const Verification& verification);

/// The step times as ComputeFidelity() takes them.
/// @param simulated  [placements], in the place of the simulated ones; empty: those [ns]
std::vector<FidelityPoint> FidelityPoints(const Verification& verification,
                                          std::span<const Nanos> simulated = {});

/// Errors and traits of the placements as TestResiduals() takes them.
std::vector<ResidualPoint> ResidualPoints(const Verification& verification);

/// The figures that simulation without a part of the model would have had.
struct Ablation {
  std::string name;  ///< "no host cost"
  Fidelity fidelity;
};

/// The same problem with parts of the model left out that only its maker can leave out; nullptr:
/// none of this kind.
struct AblatedProblems {
  std::shared_ptr<const Problem> isolated;         ///< costs of isolated timings only
  std::shared_ptr<const Problem> earlier;          ///< as calibrated before this verification
  std::shared_ptr<const Problem> no_interference;  ///< no neighbours, whose part is in the costs
  std::shared_ptr<const Problem> no_cold_reads;    ///< likewise with cold reads
};

/// Simulates the executed placements with parts of the model left out: "no host cost" (issue and
/// launch take no time), "no channel contention", "isolated op costs", "calibrated before", "no
/// interference" and "no cold reads".
/// @return nothing for a single placement
std::vector<Ablation> Ablate(const Verification& verification, const AblatedProblems& problems);

/// Were the costs measured on a machine like this one?
/// @param measured, here  properties of both machines (CostTable::properties,
///   Backend::Properties())
/// @param where           the cost file, for the warnings
/// @return a warning for each of the properties cpu and gpu that differs, naming both values, and
///   one if the machine drifted while it was profiled (kDriftProperty)
std::vector<std::string> CompareMachines(const std::map<std::string, std::string>& measured,
                                         const std::map<std::string, std::string>& here,
                                         const std::string& where);

}  // namespace emplace
