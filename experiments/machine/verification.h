#pragma once

// Verification executes placements on the devices and compares each with its simulation.

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
  int rounds = 10;        ///< steps of each placement, one per round
  int traced_rounds = 3;  ///< further rounds that measure every op; their step times are not used
  int warmup = 2;         ///< steps of each placement before the measurement
  /// Further placements in the same rounds. Their steps measure ops and copies in the same state of
  /// the machine as the other placements. Placements that do not fit are left out.
  std::vector<LabelledPlacement> calibration;
  DispatchMode mode = DispatchMode::kGraph;
  /// [num_ops] op ids in the order of simulation and execution, for placements without their own
  /// order (Candidate::issue_order); empty: by id.
  std::vector<int> issue_order;
  /// Called with the numbers of done and planned steps; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  std::function<bool()> stop;  ///< true: abort; may be empty
};

/// A placement that was executed.
struct VerifiedPlacement {
  Candidate candidate;
  Outcome simulated;                            ///< as executed (SemanticsAsExecuted())
  StepMeasurement measured;                     ///< without plan and traces, which are large
  CostSourceShares shares{};                    ///< shares of the simulated ops' time by source
  std::array<double, kNumStepTraits> traits{};  ///< of the simulated step
};

/// Returns (simulated - measured) / measured step time.
double SignedError(const VerifiedPlacement& placement);

/// Placements that were executed together, with their measurements.
struct Verification {
  std::shared_ptr<const Problem> problem;
  DispatchMode mode = DispatchMode::kGraph;
  std::vector<int> issue_order;  ///< as in VerificationOptions
  int rounds = 0;
  std::vector<VerifiedPlacement> placements;  ///< those that can be executed, in the given order
  /// The placements of VerificationOptions::calibration that were executed.
  std::vector<CalibrationPlacement> calibration;
  /// Interval of the simulated step times. The caller computes it from other placements.
  StepInterval interval{{}, "no placements were held out"};
  /// Warnings of the caller; they precede those of the summary.
  std::vector<std::string> warnings;
  std::vector<std::string> unfitting;  ///< "random 3: OOM (missing 1.20 GiB on gpu:0)"
  std::vector<ClockReading> clocks_before, clocks_after;
  /// Drift of the machine. The first placement is measured alone at the beginning and at the end;
  /// the drift is the ratio of the medians, end / beginning - 1.
  double reference_drift = 0;
  double seconds = 0;  ///< total duration [s]
};

/// Simulates all candidates and executes those that fit.
/// @throws InputError as Executor does, and if no candidate can be executed
/// @throws RunError if a device fails or `stop` returns true
Verification Verify(std::shared_ptr<const Problem> problem,
                    std::shared_ptr<Backend> backend,
                    std::span<const Candidate> candidates,
                    const VerificationOptions& options);

/// Simulates the executed placements again.
/// @param problem  of the same graph, groups and devices; with other costs or channels
void SimulateAgain(Verification& verification, std::shared_ptr<const Problem> problem);

/// Calls Verify() with a progress bar on stderr.
/// @param options  `progress` is replaced
/// @param enabled  whether the bar is shown
Verification VerifyWithProgress(std::shared_ptr<const Problem> problem,
                                std::shared_ptr<Backend> backend,
                                std::span<const Candidate> candidates,
                                VerificationOptions options,
                                bool enabled);

/// The figures of a verification. Errors are |simulated - measured| / measured.
struct VerificationSummary {
  std::optional<Fidelity> fidelity;  ///< with two placements or more, as `pairs`
  double mape = 0, max_error = 0;    ///< mean and largest error of the step times
  /// Mean error of each device's busy time, over the placements in which it is busy for at least
  /// kBusyShare of the step; NaN if there is none. [num_devices]
  std::vector<double> busy_error;
  int equal_peaks = 0;  ///< placements with equal peaks in simulation and execution on all devices
  double arena_overhead = 0;  ///< sum of arenas / sum of peaks - 1
  double proxy_share = 0;     ///< share of the ops' measured time on stand-in kernels
  CostSourceShares shares{};  ///< shares of the simulated ops' time, mean over the placements
  double clock_change = 0;    ///< largest relative change of a device's clock
  double reference_drift = 0;
  double busy_ratio = 1;  ///< measured / simulated busy time over all devices and placements
  /// Comparison of the placements round by round.
  std::optional<PairedFidelity> pairs;
  /// ResolvedDifference() of the placements; infinite: too few placements.
  double resolved = std::numeric_limits<double>::infinity();
  std::string verdict;  ///< VerdictOf() this summary (verdict.h)
  /// Coverage of the intervals, if there are any.
  std::optional<IntervalFidelity> intervals;
  /// Correlations of the errors, with three placements or more.
  std::optional<ResidualReport> residuals;
  /// Verification::warnings, and warnings on clock or drift beyond kSteady and busy_ratio beyond
  /// kSlower.
  std::vector<std::string> warnings;
};
inline constexpr double kBusyShare = 0.01;
inline constexpr double kSteady = 0.05;
inline constexpr double kSlower = 1.2;

VerificationSummary Summarize(const Verification& verification);

/// Returns the step times in the form of ComputeFidelity().
/// @param simulated  [placements] times that replace the simulated ones; empty: no replacement [ns]
std::vector<FidelityPoint> FidelityPoints(const Verification& verification,
                                          std::span<const Nanos> simulated = {});

/// Returns errors and traits of the placements in the form of TestResiduals().
std::vector<ResidualPoint> ResidualPoints(const Verification& verification);

/// The figures of a simulation without a part of the model.
struct Ablation {
  std::string name;  ///< "no host cost"
  Fidelity fidelity;
};

/// Versions of the problem without parts of the model, which only the caller can make; nullptr:
/// this version does not exist.
struct AblatedProblems {
  std::shared_ptr<const Problem> isolated;         ///< only costs of isolated timings
  std::shared_ptr<const Problem> earlier;          ///< as calibrated before this verification
  std::shared_ptr<const Problem> no_interference;  ///< the costs include its effect
  std::shared_ptr<const Problem> no_cold_reads;    ///< the costs include their effect
};

/// Simulates the executed placements without parts of the model: "no host cost" (issue and launch
/// take no time), "no channel contention", "isolated op costs", "calibrated before", "no
/// interference" and "no cold reads".
/// @return empty for a single placement
std::vector<Ablation> Ablate(const Verification& verification, const AblatedProblems& problems);

/// Checks whether the costs were measured on a machine like this one.
/// @param measured, here  properties of both machines (CostTable::properties,
///   Backend::Properties())
/// @param where           the cost file, for the warnings
/// @return a warning for each of the properties cpu and gpu that differs, naming both values, and
///   one if the machine drifted during the profile (kDriftProperty)
std::vector<std::string> CompareMachines(const std::map<std::string, std::string>& measured,
                                         const std::map<std::string, std::string>& here,
                                         const std::string& where);

}  // namespace emplace
