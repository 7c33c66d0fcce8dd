#pragma once

// Measures a machine for the simulator: every op signature of some graphs on every device kind,
// alone and in whole steps, every link, and the dispatch costs. The result is a cost table
// (framework/cost/FORMAT.md); Calibrate() makes a cluster from it.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/executor/backend.h"
#include "profilers/statistics/sampling.h"

namespace emplace {

/// The measurements to make and their time limits.
struct ProfileOptions {
  StoppingRule rule;  ///< for one op signature alone, and for one size on one link
  bool cold = false;  ///< time ops with flushed caches, too
  bool links = true;  ///< all sizes and contention; false: three sizes, enough for a channel
  std::int64_t max_link_bytes = std::int64_t{1} << 30;  ///< largest copy timed [B]
  bool dispatch = true;                                 ///< measure every DispatchQuantity
  bool interference = true;          ///< run ops of neighbouring devices concurrently
  double interference_seconds = 30;  ///< for the ops of a device kind [s]
  int in_situ_placements = 17;       ///< drawn for the whole steps of each graph; 0: no steps
  int in_situ_rounds = 4;            ///< traced steps of each placement
  /// Time for the whole steps of one graph [s]. If steps are slow, fewer placements run (at least
  /// 3), and a warning is added.
  double in_situ_seconds = 120;
  DispatchMode mode = DispatchMode::kGraph;  ///< of the steps
  std::uint64_t seed = 1;                    ///< of the drawn placements

  /// A phase is repeated if the time of the reference product (drift_watch.h) differs from that at
  /// the start by more than this share.
  double most_drift = 0.1;
  int repeats = 2;             ///< largest number of repeats of a phase
  double settle_seconds = 10;  ///< longest wait for the machine to return to its initial state [s]
  /// Keep a phase whose repeats have all drifted, and record it (kDriftProperty); false:
  /// DriftError.
  bool keep_drifted = false;
};

/// Key in CostTable::properties of a profile that was kept although the machine drifted: the time
/// and the amount of the drift.
inline constexpr const char* kDriftProperty = "drift";

/// Thrown if the machine has changed permanently during the profile.
class DriftError : public RunError {
 public:
  using RunError::RunError;
};

/// Callbacks that follow a running profile. Each function may be empty.
struct ProfileEvents {
  /// @param done  seconds elapsed    @param total  current estimate of the seconds in all
  /// @param note  the current measurement: "aten.mm on cpu:0"
  std::function<void(double done, double total, const std::string& note)> progress;
  /// Gets the current table, to be saved: after every phase, and every few seconds within one.
  std::function<void(const CostTable&)> checkpoint;
  std::function<bool()> stop;  ///< called often; true: end soon and return the current table
};

/// Runs five phases: every op signature alone on the first device of each kind on which it may run;
/// dispatch; links (sizes 1 B, 2 B, 4 B ... alone, then every pair at one size together);
/// interference (interference_phase.h); whole steps.
///
/// A signature whose kernel fails, a graph whose steps fail or do not fit into memory, and
/// placements for which there is no time are left out, with a warning in CostTable::warnings. Drift
/// of the machine adds a warning, too: if a compute clock or the time of the reference product
/// (drift_watch.h) differs from that at the start by more than 5 %.
///
/// If the product's time differs by more than ProfileOptions::most_drift, at the end of a phase or
/// during it (checked every 5 s), the phase is repeated as soon as the machine is in its initial
/// state again, or after `settle_seconds`. Before a repeat of the first phase the reference is
/// measured again instead, since nothing else depends on it. A resumed profile is compared with the
/// start of the earlier one.
///
/// @param graphs  a signature that occurs several times is measured once
/// @param resume  an earlier, partial table of the same machine; its entries are not measured again
/// @return the table with its fits (FitLadder()); `complete` is false if it was stopped
/// @throws DriftError if all repeats of a phase have drifted, or if a resumed profile has drifted
/// at its start; a checkpoint then has everything before this phase. RunError naming device and
/// signature when a device fails (after a checkpoint), InputError if `resume` is of another machine
/// (naming both)
CostTable ProfileMachine(std::shared_ptr<Backend> backend,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         const ProfileOptions& options,
                         const CostTable& resume = {},
                         const ProfileEvents& events = {});

/// Returns the text for CostTable::machine: host name and devices with their descriptions.
std::string DescribeMachine(const Backend& backend);

}  // namespace emplace
