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
  bool links = true;  ///< sizes and contention
  std::int64_t max_link_bytes = std::int64_t{1} << 30;  ///< largest copy timed [B]
  bool dispatch = true;                                 ///< null kernel, launch, issue, wait
  int in_situ_placements = 12;  ///< whole steps of each graph under this many drawn placements
  int in_situ_rounds = 4;       ///< traced steps of each
  DispatchMode mode = DispatchMode::kGraph;  ///< of the steps
  std::uint64_t seed = 1;                    ///< of the drawn placements
};

/// What the caller sees and says while a profile runs. Each may be empty.
struct ProfileEvents {
  std::function<void(double done, double total, const std::string& note)> progress;  ///< [s], rough
  std::function<void(const CostTable&)> checkpoint;  ///< a partial table worth keeping
  std::function<bool()> stop;                        ///< true: end soon, keep what there is
};

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

}  // namespace emplace
