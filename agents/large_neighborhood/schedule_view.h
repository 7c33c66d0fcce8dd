#pragma once

// Finds the parts of one step's schedule where a placement may be improved: the critical chain of
// ops and the idle times of devices. These are estimates for choosing changes and are not reported
// as results: a device counts as one slot, and the time of a message is that of its route without
// other traffic.

#include <cstdint>
#include <span>
#include <vector>

#include "agents/shared/list_schedule.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

class ScheduleView {
 public:
  /// @param problem  outlives this
  explicit ScheduleView(const Problem& problem);

  /// Computes the view of a placement.
  /// @param outcome  of the placement, with op_times. Without times (an objective without a
  ///   timeline) nothing is critical, idle or started.
  void Set(const Placement& placement, const Outcome& outcome);

  /// Returns the groups with a choice on a longest chain of ops that ends with the last op, from
  /// the end to the beginning, no group twice. Each op of the chain waits for the one before it: it
  /// reads an output of that op, or its device was busy with that op.
  std::span<const int> critical() const { return critical_; }

  struct Idle {
    int device;
    Nanos start, end;  ///< [ns]
  };
  /// Draws an interval in which a device is idle, in proportion to the possible work: its length
  /// times the device's speed (DeviceSpeeds()). @pre any_idle()
  Idle DrawIdle(Rng& rng) const;
  bool any_idle() const { return !idle_.empty(); }

  /// Returns the ops with a duration above 0, by start.
  std::span<const int> by_start() const { return by_start_; }
  /// [num_ops] [ns]
  std::span<const Nanos> start() const { return start_; }
  std::span<const Nanos> finish() const { return finish_; }

  /// Returns when a device has finished its op at `time`, or `time` if it is idle or if the op is
  /// in an ignored group [ns].
  /// @param ignored  [num_groups]
  Nanos FreeFrom(int device, Nanos time, const std::vector<char>& ignored) const;

  const OpInputs& inputs() const { return inputs_; }

 private:
  void FindCritical(const Placement& placement);

  const Problem& problem_;
  OpInputs inputs_;
  std::vector<double> speed_;  // [num_devices]
  std::vector<Nanos> start_, finish_;
  std::vector<int> by_start_;
  std::vector<int> before_;                  // [num_ops] previous op on the device, or -1
  std::vector<std::vector<int>> on_device_;  // [num_devices] ops with a duration above 0, by start
  std::vector<int> critical_;
  std::vector<Idle> idle_;
  std::vector<double> idle_until_;  // cumulative possible work
};

}  // namespace emplace
