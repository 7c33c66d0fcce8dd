#pragma once

// Traced steps: the activities of devices with neighbours, and for each activity the work that ran
// concurrently on neighbouring devices. Interference is fitted to them (step_interference.h) and
// removed from the times of ops (simulator/README.md, "Interference semantics").

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/search/problem.h"
#include "profilers/executor/executor.h"

namespace emplace {

/// The work of an activity.
struct TracedSubject {
  std::string kind;        ///< name of the device's kind
  std::string work_class;  ///< of OpClassNames(), or kTransferClass for copies made by a device
  std::string signature;   ///< of the op; empty for copies
  std::int64_t bytes = 0;  ///< read cold, or copied [B]
};

/// One run of a subject.
struct TracedActivity {
  int subject = 0;              ///< index into TracedPlacement::subjects
  Nanos start = 0, finish = 0;  ///< since the step's start [ns]
};

/// The traced steps of one placement.
struct TracedPlacement {
  std::vector<TracedSubject> subjects;
  std::vector<std::uint64_t> neighbors;  ///< [num_devices] as Device::neighbors
  /// The activities of each step and device, one after another.
  std::vector<std::vector<std::vector<TracedActivity>>> steps;
};

/// Returns false for empty copies and for ops that only touch shapes: their times mean nothing.
bool HasWork(const ExecutionPlan& plan, const PlanCommand& command);

/// Calls fn(step, device, activity) for every activity.
template <class Fn>
void ForEachActivity(const TracedPlacement& traced, const Fn& fn) {
  for (size_t step = 0; step < traced.steps.size(); ++step) {
    for (size_t d = 0; d < traced.steps[step].size(); ++d) {
      for (const TracedActivity& activity : traced.steps[step][d]) {
        fn(static_cast<int>(step), static_cast<int>(d), activity);
      }
    }
  }
}

/// Splits an activity into pieces during which the set of concurrent subjects on neighbouring
/// devices does not change. Calls fn(concurrent subjects, length [ns]) for each piece in the order
/// of time.
void ForEachPiece(const TracedPlacement& traced,
                  int step,
                  int device,
                  const TracedActivity& activity,
                  const std::function<void(std::span<const int>, Nanos)>& fn);

/// @param device_of_op  [num_ops]    @param cold_bytes  [num_ops] bytes that each op reads cold [B]
/// @param measurement  with plan and traces
TracedPlacement TracePlacement(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               std::span<const std::int64_t> cold_bytes,
                               const StepMeasurement& measurement);

/// Traced steps of several placements.
using TracedSteps = std::vector<std::shared_ptr<const TracedPlacement>>;

/// Times of the ops with one signature on one device kind, by bytes read cold [B] -> [ns].
using ApartTimesOfOp = std::map<std::int64_t, std::vector<double>>;

/// Computes the time that each op would have taken alone: the work done between its start and its
/// finish, at the rates that follow from the table's interference values and the concurrent
/// activities on neighbouring devices. This is the inverse of the simulation.
/// @return by (device kind, signature)
std::map<std::pair<std::string, std::string>, ApartTimesOfOp> ApartTimes(const TracedSteps& steps,
                                                                         const CostTable& table);

}  // namespace emplace
