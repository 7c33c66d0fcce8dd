#pragma once

// Traced steps: when devices with neighbours did which work, and for each activity the work that
// ran beside it. Interference is fitted from them (step_interference.h) and taken off the times of
// ops (simulator/README.md, "Interference semantics").

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

/// What an activity does: the same work each time.
struct TracedSubject {
  std::string kind;        ///< name of the device's kind
  std::string work_class;  ///< of OpClassNames(), or kTransferClass for copies that a device makes
  std::string signature;   ///< of the op; empty for copies
  std::int64_t bytes = 0;  ///< that it reads cold, or copies [B]
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
  /// Per step and device the activities, one after another.
  std::vector<std::vector<std::vector<TracedActivity>>> steps;
};

/// False for copies of nothing and for ops that only touch shapes: their times mean nothing.
bool HasWork(const ExecutionPlan& plan, const PlanCommand& command);

/// Calls fn(subjects beside, length [ns]) for each piece of an activity in which the same runs on
/// neighbouring devices, in the order of time; the pieces make up the whole activity.
void ForEachPiece(const TracedPlacement& traced,
                  int step,
                  int device,
                  const TracedActivity& activity,
                  const std::function<void(std::span<const int>, Nanos)>& fn);

/// @param cold_bytes  [num_ops] what each op reads cold [B]
/// @param device_of_op  [num_ops]    @param measurement  with plan and traces
TracedPlacement TracePlacement(const Problem& problem,
                               std::span<const DeviceIndex> device_of_op,
                               std::span<const std::int64_t> cold_bytes,
                               const StepMeasurement& measurement);

/// Of several placements.
using TracedSteps = std::vector<std::shared_ptr<const TracedPlacement>>;

/// Times of the ops with one signature on one device kind, by what they read cold [B] -> [ns].
using ApartTimesOfOp = std::map<std::int64_t, std::vector<double>>;

/// The work that each op did between its start and its finish, at the rates that the table's
/// figures of interference give for what ran on neighbouring devices meanwhile. It is the inverse
/// of what the simulator does.
/// @return by (device kind, signature)
std::map<std::pair<std::string, std::string>, ApartTimesOfOp> ApartTimes(const TracedSteps& steps,
                                                                         const CostTable& table);

}  // namespace emplace
