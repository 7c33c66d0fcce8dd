#pragma once

// What a traced step would have taken without the events on streams that traced it.
//
// A command between two events takes longer by `pair`, and the command after it starts later by
// `between`; both were measured on a chain of empty kernels with and without events
// (cuda/trace_overhead.h). A command's delay is the time from the latest end of what it waited for,
// the previous command of its queue included, until its start. The step is put together again from
// its start with every duration less `pair` and every delay less `between`, neither below 0.

#include <span>
#include <vector>

#include "profilers/executor/backend.h"
#include "profilers/executor/queue_plan.h"

namespace emplace {

/// What tracing adds to a stream.
struct TraceOverhead {
  Nanos pair = 0, between = 0;  ///< [ns]
  bool operator==(const TraceOverhead&) const = default;
};

/// @param is_timed  [num_commands] false: nothing runs in the command (a view, a control edge), and
/// its times were not measured; it ends as soon as it may start
/// @param overheads  [num_queues]; zeros for cores
/// @param record  start and finish as measured; set to what they would have been, with the latest
/// finish as step time
void Retime(const QueuePlan& queues,
            const std::vector<bool>& is_timed,
            std::span<const TraceOverhead> overheads,
            StepRecord& record);

}  // namespace emplace
