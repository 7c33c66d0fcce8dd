#pragma once

// Measures a machine for the simulator: every op signature of some graphs on every device kind,
// alone and in whole steps, every link, and what dispatch costs. The result is a cost table
// (framework/cost/FORMAT.md); Calibrate() makes a cluster of it.

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

/// What to measure, and how long.
struct ProfileOptions {
  StoppingRule rule;  ///< of one op signature alone, and of one size on one link
  bool cold = false;  ///< time ops with flushed caches, too
  bool links = true;  ///< all sizes and contention; false: three sizes, enough for a channel
  std::int64_t max_link_bytes = std::int64_t{1} << 30;  ///< largest copy timed [B]
  bool dispatch = true;                                 ///< measure every DispatchQuantity
  bool interference = true;          ///< run ops of neighbouring devices beside one another
  double interference_seconds = 30;  ///< for the ops of a device kind [s]
  int in_situ_placements = 17;       ///< drawn, to run whole steps of each graph under; 0: no steps
  int in_situ_rounds = 4;            ///< traced steps of each
  /// For the whole steps of one graph [s]. Where steps are slow, fewer placements run (at least 3),
  /// which becomes a warning.
  double in_situ_seconds = 120;
  DispatchMode mode = DispatchMode::kGraph;  ///< of the steps
  std::uint64_t seed = 1;                    ///< of the drawn placements

  /// A phase is measured again if the reference product (drift_watch.h) takes longer or shorter
  /// than at the start by more than this share.
  double most_drift = 0.1;
  int repeats = 2;             ///< how often a phase is measured again, at most
  double settle_seconds = 10;  ///< how long to wait for the machine to be as at the start [s]
  /// Keep a phase of which every repeat has drifted, and say so (kDriftProperty); false:
  /// DriftError.
  bool keep_drifted = false;
};

/// Key of CostTable::properties of a profile that was kept although the machine drifted: when, and
/// by how much.
inline constexpr const char* kDriftProperty = "drift";

/// The machine has changed for good while it was profiled.
class DriftError : public RunError {
 public:
  using RunError::RunError;
};

/// How the caller follows a profile while it runs. Each function may be empty.
struct ProfileEvents {
  /// @param done  seconds gone    @param total  seconds expected in all, an estimate that changes
  /// @param note  what is measured now: "aten.mm on cpu:0"
  std::function<void(double done, double total, const std::string& note)> progress;
  /// Gets the table so far, to be saved: after every phase, and every few seconds within one.
  std::function<void(const CostTable&)> checkpoint;
  std::function<bool()> stop;  ///< asked often; true: end soon and return what there is
};

/// Runs five phases: every op signature alone on the first device of each kind that may run it;
/// dispatch; links (sizes 1 B, 2 B, 4 B ... alone, then every pair at one size together);
/// interference (interference_phase.h); whole steps.
///
/// Becomes a warning in CostTable::warnings, and is left out: a signature whose kernel fails, a
/// graph whose steps fail or do not fit into memory, placements for which there is no time. Drift
/// of the machine is a warning, too: a compute clock or the reference product (drift_watch.h) more
/// than 5 % off its value at the start.
///
/// If the product is off by more than ProfileOptions::most_drift, at the end of a phase or while it
/// runs (every 5 s), the phase is measured again as soon as the machine is as it was, or after
/// `settle_seconds`. Of the first phase the start counts again, since nothing else depends on it. A
/// resumed profile is compared with the start of the earlier one.
///
/// @param graphs  a signature that occurs several times is measured once
/// @param resume  an earlier, partial table of the same machine: what it holds is not measured
/// again
/// @return the table with its fits (FitLadder()); `complete` is false if it was stopped
/// @throws DriftError if all repeats of a phase have drifted, or a resumed profile at its start; a
/// checkpoint then has everything before this phase.
/// RunError naming device and signature when a device fails (after a checkpoint),
/// InputError if `resume` is of another machine (naming both)
CostTable ProfileMachine(std::shared_ptr<Backend> backend,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         const ProfileOptions& options,
                         const CostTable& resume = {},
                         const ProfileEvents& events = {});

/// What CostTable::machine says: host name and devices with their descriptions.
std::string DescribeMachine(const Backend& backend);

}  // namespace emplace
