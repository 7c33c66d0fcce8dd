#pragma once

// What a traced step would have taken without the events that traced it. Plain host code.
//
// A command between two events takes longer by `pair`, and the command behind it starts later by
// `between`; both were measured on a chain of empty kernels with and without events. So every
// command gets its duration less `pair`, and its delay, which is the time from the latest end of
// what it waited for (its stream's previous command included) until its start, less `between`;
// then the step is put together again from its start. Neither becomes negative.

#include <cstdint>
#include <span>
#include <vector>

#include "profilers/executor/backend.h"
#include "profilers/executor/plan.h"

namespace emplace::cuda {

struct TraceOverhead {
  Nanos pair = 0, between = 0;  ///< [ns]
  bool operator==(const TraceOverhead&) const = default;
};

/// @param is_timed  [num_commands] false: nothing runs in it (a view, a control edge), its times
/// are unknown; it ends as soon as it may start
/// @param overheads  [num_streams]; zeros for streams on the host
/// @param record  start and finish as measured; afterwards as they would have been, and the latest
/// finish as step time
void Retime(const ExecutionPlan& plan,
            const std::vector<bool>& is_timed,
            std::span<const TraceOverhead> overheads,
            StepRecord& record);

}  // namespace emplace::cuda
