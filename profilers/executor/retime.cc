#include "profilers/executor/retime.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace {

void Retime(const QueuePlan& queues,
            const std::vector<bool>& is_timed,
            std::span<const TraceOverhead> overheads,
            StepRecord& record) {
  const size_t num_commands = queues.queue_of_command.size();
  EMPLACE_CHECK(is_timed.size() == num_commands && record.start.size() == num_commands &&
                record.finish.size() == num_commands &&
                static_cast<int>(overheads.size()) == queues.num_queues());
  std::vector<Nanos> measured = record.finish;
  std::vector<int> last(queues.num_queues(), -1);
  record.step_time = 0;
  for (size_t c = 0; c < num_commands; ++c) {
    const int queue = queues.queue_of_command[c];
    const TraceOverhead& overhead = overheads[queue];
    // The earliest possible start, from measured and from corrected times.
    Nanos may_measured = 0, may = 0;
    const auto see = [&](int before) {
      may_measured = std::max(may_measured, measured[before]);
      may = std::max(may, record.finish[before]);
    };
    for (int wait : queues.waits[c]) see(wait);
    if (last[queue] >= 0) see(last[queue]);
    last[queue] = static_cast<int>(c);
    if (is_timed[c]) {
      const Nanos delay = record.start[c] - may_measured - overhead.between;
      const Nanos duration = measured[c] - record.start[c] - overhead.pair;
      record.start[c] = may + std::max<Nanos>(0, delay);
      record.finish[c] = record.start[c] + std::max<Nanos>(0, duration);
    } else {
      measured[c] = may_measured;
      record.start[c] = record.finish[c] = may;
    }
    record.step_time = std::max(record.step_time, record.finish[c]);
  }
}

}  // namespace emplace
