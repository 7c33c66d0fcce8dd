#include "experiments/machine/step_traits.h"

#include <algorithm>
#include <vector>

#include "framework/base/error.h"
#include "framework/schedule/transfer_plan.h"

namespace emplace {

double OverlapShare(const Problem& problem,
                    std::span<const DeviceIndex> device_of_op,
                    const Outcome& outcome) {
  EMPLACE_CHECK(outcome.start.size() == device_of_op.size());
  struct Change {
    Nanos time;
    int device, running;  // change of the number of running ops
  };
  std::vector<Change> changes;
  for (size_t op = 0; op < device_of_op.size(); ++op) {
    if (outcome.start[op] >= outcome.finish[op]) continue;
    changes.push_back({outcome.start[op], device_of_op[op], 1});
    changes.push_back({outcome.finish[op], device_of_op[op], -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time < b.time;
  });
  std::vector<int> running(problem.num_devices(), 0);
  int busy = 0;
  Nanos overlap = 0, before = 0;
  for (const Change& change : changes) {
    if (busy >= 2) overlap += change.time - before;
    before = change.time;
    int& ops = running[change.device];
    busy -= ops > 0;
    ops += change.running;
    busy += ops > 0;
  }
  if (outcome.step_time <= 0) return 0;
  return static_cast<double>(overlap) / static_cast<double>(outcome.step_time);
}

std::array<double, kNumStepTraits> TraitsOf(const Problem& problem,
                                            std::span<const DeviceIndex> device_of_op,
                                            const Outcome& outcome) {
  std::int64_t bytes = 0, crossings = 0;
  for (int op = 0; op < problem.num_ops(); ++op) {
    for (const Copy& copy : CopiesOf(problem.graph(), problem.cluster(), device_of_op, op)) {
      bytes += copy.bytes;
      ++crossings;
    }
  }
  std::array<double, kNumStepTraits> traits{};
  const auto set = [&](StepTrait trait, double value) {
    traits[static_cast<size_t>(trait)] = value;
  };
  set(StepTrait::kCrossingBytes, static_cast<double>(bytes));
  set(StepTrait::kCrossings, static_cast<double>(crossings));
  set(StepTrait::kOverlap, OverlapShare(problem, device_of_op, outcome));
  set(StepTrait::kStepTime, static_cast<double>(outcome.step_time));
  return traits;
}

}  // namespace emplace
