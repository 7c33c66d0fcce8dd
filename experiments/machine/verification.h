#pragma once

// Placements executed on the devices, each beside its simulation.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/search/evaluator.h"
#include "profilers/executor/executor.h"
#include "profilers/measure/in_situ.h"
#include "profilers/statistics/fidelity.h"
#include "simulator/simulator.h"

namespace emplace {

/// What is to be executed.
struct Candidate {
  std::string label;
  Placement placement;            ///< [num_groups]
  std::optional<Nanos> searched;  ///< what the search saw: other semantics, other costs [ns]
};

struct VerificationOptions {
  int rounds = 10;        ///< steps of each placement, interleaved
  int traced_rounds = 3;  ///< further ones with the times of every op
  int warmup = 2;
  /// Executed between the others, round by round, for what their steps tell of ops and copies while
  /// the machine is as it is for the others too. Those that do not fit are left out.
  std::vector<Placement> calibration;
  DispatchMode mode = DispatchMode::kGraph;
  /// Steps done of steps planned. May be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  std::function<bool()> stop;  ///< true: give up. May be empty.
};

struct VerifiedPlacement {
  Candidate candidate;
  Outcome simulated;         ///< S semantics, what the executor does
  StepMeasurement measured;  ///< without plan and traces, which are large
  RungShares shares{};       ///< of the simulated ops' time by source
};

/// All that one round of measurements says.
struct Verification {
  std::shared_ptr<const Problem> problem;
  DispatchMode mode = DispatchMode::kGraph;
  int rounds = 0;
  std::vector<VerifiedPlacement> placements;  ///< those that can be executed, in the given order
  InSituTimings calibration;                  ///< from VerificationOptions::calibration
  int calibration_placements = 0;             ///< of them executed
  std::vector<std::string> unfitting;         ///< "random 3: OOM (missing 1.20 GiB on gpu:0)"
  std::vector<ClockReading> clocks_before, clocks_after;
  /// The first placement alone, at the end and at the beginning: median(end) / median(beginning)
  /// - 1.
  double reference_drift = 0;
  double seconds = 0;  ///< all of it took [s]
};

/// Simulates all, executes those that fit.
/// @throws InputError as Executor does, and if no candidate can be executed; RunError if a device
/// fails or `stop` says so
Verification Verify(std::shared_ptr<const Problem> problem,
                    std::shared_ptr<Backend> backend,
                    std::span<const Candidate> candidates,
                    const VerificationOptions& options);

/// Simulates the executed placements anew. @param problem  same graph, groups and devices; other
/// costs or channels
void SimulateAgain(Verification& verification, std::shared_ptr<const Problem> problem);

/// Verify() with a progress bar on stderr. @param options  without progress of its own
Verification VerifyWithProgress(std::shared_ptr<const Problem> problem,
                                std::shared_ptr<Backend> backend,
                                std::span<const Candidate> candidates,
                                VerificationOptions options,
                                bool enabled);

/// The figures of a verification.
struct VerificationSummary {
  std::optional<Fidelity> fidelity;  ///< of two placements and more
  double mape = 0, max_error = 0;    ///< of the step times, also of a single placement
  /// Mean of |simulated - measured| / measured busy time over the placements in which the device is
  /// busy for kBusyShare of the step at least; NaN for a device that is in none. [num_devices]
  std::vector<double> busy_error;
  int equal_peaks = 0;        ///< placements whose simulated peak is the executor's on all devices
  double arena_overhead = 0;  ///< sum of arenas / sum of peaks - 1
  double proxy_share = 0;     ///< of the ops' measured time that ran on stand-in kernels
  RungShares shares{};        ///< of the simulated ops' time, mean over the placements
  double clock_change = 0;    ///< largest relative change of a device's clock
  double reference_drift = 0;
  double busy_ratio = 1;  ///< measured / simulated busy time over all devices and placements
  std::vector<std::string> warnings;  ///< clock or drift beyond kSteady, busy_ratio beyond kSlower
};
inline constexpr double kBusyShare = 0.01;
inline constexpr double kSteady = 0.05;
inline constexpr double kSlower = 1.2;

VerificationSummary Summarize(const Verification& verification);

/// What ComputeFidelity takes. @param simulated  [placements] [ns]; empty: as simulated
std::vector<FidelityPoint> FidelityPoints(const Verification& verification,
                                          std::span<const Nanos> simulated = {});

/// The figures without a part of the model.
struct Ablation {
  std::string name;  ///< "no host cost"
  Fidelity fidelity;
};

/// "no host cost" (issue = launch = 0), "no channel contention", and, where `isolated` has the same
/// problem with costs of isolated timings only, "isolated op costs", and, where `earlier` has it
/// with what was calibrated before, "calibrated before".
/// @param isolated, earlier  nullptr: without this one
std::vector<Ablation> Ablate(const Verification& verification,
                             std::shared_ptr<const Problem> isolated,
                             std::shared_ptr<const Problem> earlier = nullptr);

/// The machine's properties that a cost file must share for its costs to mean anything here.
/// @return a warning per property (cpu, gpu) that differs, naming both machines
std::vector<std::string> CompareMachines(const std::map<std::string, std::string>& measured,
                                         const std::map<std::string, std::string>& here,
                                         const std::string& where);

}  // namespace emplace
