#pragma once

// What the schedule of one step tells of every group and device, as shares of the step time: when a
// group runs, how late it could, how much of it the step waits for, how long its ops wait for their
// device. Estimates for choosing what to try, never for what is reported: a message takes its
// route's time when alone on it.
//
// Slack of an op, as in critical path analysis but on the schedule as it was: how much later it
// could finish without the step ending later, if every op kept its device and, on devices of one
// slot, its place in the order there.

#include <vector>

#include "agents/shared/list_schedule.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Shares of the step time.
struct GroupFacts {
  double start = 1, end = 0;  ///< of its first and last op
  double slack = 1;           ///< the least of its ops that take time
  double critical = 0;        ///< time of its ops with a slack below kCriticalSlack
  double wait = 0;            ///< sum over its ops of the time from their inputs to their start
};

struct DeviceFacts {
  double load = 0;       ///< share of the step in which it works, over its slots
  double memory = 0;     ///< peak over memory; 0 if that is unlimited
  bool deficit = false;  ///< the placement does not fit there
};

class ScheduleFacts {
 public:
  static constexpr double kCriticalSlack = 0.01;

  /// @param problem  outlives this
  explicit ScheduleFacts(const Problem& problem);

  /// @param outcome  of the placement, with op_times. Without them (an objective that has no
  ///   timeline) groups have a slack of 1 and no times.
  void Set(const Placement& placement, const Outcome& outcome);

  const Placement& placement() const { return placement_; }
  double step_time() const { return step_time_; }  ///< at least 1 [ns]
  const GroupFacts& group(int g) const { return group_[g]; }
  const DeviceFacts& device(int d) const { return device_[d]; }
  /// How much of an interval a device is at work. @param from, to  shares of the step time
  /// @return share of the step time
  double Busy(int device, double from, double to) const;
  /// A message's time when alone on its route, 0 within a device. [ns]
  double TransferTime(int from, int to, double bytes) const;

 private:
  static constexpr int kBins = 128;  // of the step, in which a device's work is kept
  struct Output {
    int op;
    double bytes;
  };
  struct Route {
    double fixed, per_byte;  // [ns], [ns/B]
  };
  void SetSlacks(const Outcome& outcome);
  void SetWaits(const Outcome& outcome);
  void AddWork(int device, double start, double end);
  double Duration(const Outcome& outcome, int op) const;
  int DeviceOf(int op) const { return placement_.device[problem_.grouping().group_of(op)]; }

  const Problem& problem_;
  std::vector<Route> route_;         // [num_devices, num_devices]
  std::vector<int> output_offsets_;  // [num_ops + 1]
  std::vector<Output> outputs_;      // what each op sends to whom
  std::vector<int> position_;        // [num_ops] in topological order
  Placement placement_;
  double step_time_ = 1;
  std::vector<GroupFacts> group_;
  std::vector<DeviceFacts> device_;
  std::vector<double> work_;            // [num_devices, kBins + 1] bins of work before a bin's end
  std::vector<int> by_finish_;          // [num_ops] last first
  std::vector<double> latest_, ready_;  // [num_ops] [ns]
};

}  // namespace emplace
