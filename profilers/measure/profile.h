#pragma once

// Measuring a machine: every op signature of some graphs on every device kind, alone and in whole
// steps, every link, and what dispatch costs.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph.h"
#include "profilers/executor/backend.h"
#include "profilers/statistics/sampling.h"

namespace emplace {

struct ProfileOptions {
  StoppingRule rule;  ///< of one isolated op signature and of one link size
  bool cold = false;  ///< also with flushed caches
  bool links = true;  ///< all sizes and contention; false: three sizes, enough for a channel
  std::int64_t max_link_bytes = std::int64_t{1} << 30;  ///< largest copy timed [B]
  bool dispatch = true;                                 ///< null kernel, launch, issue, wait
  int in_situ_placements = 17;   ///< whole steps of each graph under this many drawn placements
  int in_situ_rounds = 4;        ///< traced steps of each
  double in_situ_seconds = 120;  ///< per graph; where steps are slower there are fewer placements
                                 ///< (3 at least), which becomes a warning [s]
  DispatchMode mode = DispatchMode::kGraph;  ///< of the steps
  std::uint64_t seed = 1;                    ///< of the drawn placements
};

/// What the caller sees and says while a profile runs. Each may be empty.
struct ProfileEvents {
  /// Seconds gone and seconds expected in all (which moves as more is known), and what is done now.
  std::function<void(double done, double total, const std::string& note)> progress;
  /// A partial table worth keeping: after every phase, and between at most every few seconds.
  std::function<void(const CostTable&)> checkpoint;
  std::function<bool()> stop;  ///< true: end soon, keep what there is
};

/// Phases: every op signature alone (on the first device of each kind that may run it), dispatch,
/// links (sizes 1 B, 2 B, 4 B ... alone, then every pair at one size together), whole steps.
///
/// Warnings: signatures whose kernel fails (skipped), graphs whose steps fail or do not fit
/// (skipped), placements left out, and drift: a compute clock that reads more than 5 % apart at
/// start and end, or one fixed matrix product whose time changed by more than 5 % between phases.
///
/// @param graphs  signatures that several share are measured once
/// @param resume  an earlier, partial table of the same machine: what it holds is not measured
/// again
/// @return with fitted ladder; `complete` is false if stopped
/// @throws RunError naming device and signature when a device fails (after a checkpoint),
/// InputError if `resume` is of another machine (naming both)
CostTable ProfileMachine(std::shared_ptr<Backend> backend,
                         std::span<const std::shared_ptr<const Graph>> graphs,
                         const ProfileOptions& options,
                         const CostTable& resume = {},
                         const ProfileEvents& events = {});

/// What CostTable::machine says: host name and devices.
std::string DescribeMachine(const Backend& backend);

}  // namespace emplace
