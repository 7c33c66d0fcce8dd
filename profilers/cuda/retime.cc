#include "profilers/cuda/retime.h"

#include <algorithm>

#include "framework/base/error.h"

namespace emplace::cuda {

void Retime(const ExecutionPlan& plan,
            const std::vector<bool>& is_timed,
            std::span<const TraceOverhead> overheads,
            StepRecord& record) {
  const size_t num_commands = plan.commands.size();
  EMPLACE_CHECK(is_timed.size() == num_commands && record.start.size() == num_commands &&
                record.finish.size() == num_commands &&
                overheads.size() == static_cast<size_t>(plan.num_streams()));
  std::vector<Nanos> measured = record.finish;
  std::vector<int> last(plan.num_streams(), -1);
  record.step_time = 0;
  for (size_t i = 0; i < num_commands; ++i) {
    const PlanCommand& command = plan.commands[i];
    const TraceOverhead& overhead = overheads[command.stream];
    // When it might have started: as measured, and as put together.
    Nanos may_measured = 0, may = 0;
    const auto see = [&](int before) {
      may_measured = std::max(may_measured, measured[before]);
      may = std::max(may, record.finish[before]);
    };
    for (int wait : command.waits) see(wait);
    if (last[command.stream] >= 0) see(last[command.stream]);
    last[command.stream] = static_cast<int>(i);
    if (is_timed[i]) {
      const Nanos delay = record.start[i] - may_measured - overhead.between;
      const Nanos duration = measured[i] - record.start[i] - overhead.pair;
      record.start[i] = may + std::max<Nanos>(0, delay);
      record.finish[i] = record.start[i] + std::max<Nanos>(0, duration);
    } else {
      measured[i] = may_measured;
      record.start[i] = record.finish[i] = may;
    }
    record.step_time = std::max(record.step_time, record.finish[i]);
  }
}

}  // namespace emplace::cuda
