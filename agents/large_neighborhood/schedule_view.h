#pragma once

// What the schedule of one step tells about where a placement can be made better: what the step
// waits for, and where devices are idle. Estimates for choosing what to try, never for what is
// reported: a device counts as one slot, and a message takes its route's time when alone on it.

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

  /// @param outcome  of the placement, with op_times; without times (an objective that has no
  ///   timeline) there is nothing critical, idle or started
  void Set(const Placement& placement, const Outcome& outcome);

  /// The groups with a choice among those of a longest chain that ends with the last op: each op
  /// waits for the one before it, since it reads from it or since its device was at work on it.
  /// From the end to the beginning, no group twice.
  std::span<const int> critical() const { return critical_; }

  struct Idle {
    int device;
    Nanos start, end;  ///< [ns]
  };
  /// An interval in which a device does nothing, drawn in proportion to what it could do meanwhile:
  /// its length times the device's speed (DeviceSpeeds()).
  /// @pre any_idle()
  Idle DrawIdle(Rng& rng) const;
  bool any_idle() const { return !idle_.empty(); }

  /// Ops that cost anything, by start.
  std::span<const int> by_start() const { return by_start_; }
  /// [num_ops] [ns]
  std::span<const Nanos> start() const { return start_; }
  std::span<const Nanos> finish() const { return finish_; }

  /// When a device has done what it is doing at `time`, not counting the ops of some groups. [ns]
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
  std::vector<int> before_;                  // [num_ops] op that the device did before, or -1
  std::vector<std::vector<int>> on_device_;  // [num_devices] ops that cost anything, by start
  std::vector<int> critical_;
  std::vector<Idle> idle_;
  std::vector<double> idle_until_;  // sums of what could be done
};

}  // namespace emplace
