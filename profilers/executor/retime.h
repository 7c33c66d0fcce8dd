#pragma once

// Corrects the times of a traced step for the events on streams that traced it.
//
// A command between two events takes longer by `pair`, and the command after it starts later by
// `between`. Both are measured on a chain of empty kernels with and without events
// (cuda/trace_overhead.h). The delay of a command is the time from the latest end of the commands
// that it waited for, including the previous command of its queue, to its start. The corrected step
// is rebuilt from its start: every duration is reduced by `pair` and every delay by `between`,
// neither below 0.

#include <span>
#include <vector>

#include "profilers/executor/backend.h"
#include "profilers/executor/queue_plan.h"

namespace emplace {

/// The overhead of tracing on a stream.
struct TraceOverhead {
  Nanos pair = 0, between = 0;  ///< [ns]
  bool operator==(const TraceOverhead&) const = default;
};

/// @param is_timed   [num_commands] false: the command has no work (a view, a control edge) and its
///   times were not measured; it ends as soon as it may start
/// @param overheads  [num_queues]; zeros for cores
/// @param record     start and finish as measured; updated to the corrected times, with the latest
///   finish as step time
void Retime(const QueuePlan& queues,
            const std::vector<bool>& is_timed,
            std::span<const TraceOverhead> overheads,
            StepRecord& record);

}  // namespace emplace
