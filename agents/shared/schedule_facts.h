#pragma once

// Properties of every group and device in the schedule of one step, as shares of the step time:
// when a group runs, how late it could run, its time on the critical path, and the waiting time of
// its ops. They are estimates for choosing moves and are not reported as results: the time of a
// message is that of its route without other traffic.
//
// The slack of an op is, as in critical path analysis, how much later it could finish without a
// later end of the step. It is computed on the actual schedule: every op keeps its device and, on
// devices of one slot, its place in the order there.

#include <vector>

#include "agents/shared/list_schedule.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

/// Properties of a group, as shares of the step time.
struct GroupFacts {
  double start = 1, end = 0;  ///< of its first and last op
  double slack = 1;           ///< least slack of its ops that take time
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

  /// Computes all properties of a placement.
  /// @param outcome  of the placement, with op_times. Without times (an objective without a
  ///   timeline) groups have a slack of 1 and no times.
  void Set(const Placement& placement, const Outcome& outcome);

  const Placement& placement() const { return placement_; }
  double step_time() const { return step_time_; }  ///< at least 1 [ns]
  const GroupFacts& group(int g) const { return group_[g]; }
  const DeviceFacts& device(int d) const { return device_[d]; }
  /// Returns the time in which a device works within an interval, as a share of the step time.
  /// @param from, to  shares of the step time
  double Busy(int device, double from, double to) const;
  /// Returns the time of a message on its route without other traffic [ns], 0 within a device.
  double TransferTime(int from, int to, double bytes) const;

 private:
  static constexpr int kBins = 128;  // intervals of the step for which a device's work is stored
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
  std::vector<Output> outputs_;      // readers of each op's outputs
  std::vector<int> position_;        // [num_ops] in topological order
  Placement placement_;
  double step_time_ = 1;
  std::vector<GroupFacts> group_;
  std::vector<DeviceFacts> device_;
  std::vector<double> work_;            // [num_devices, kBins + 1] cumulative work up to each bin
  std::vector<int> by_finish_;          // [num_ops] in order of descending finish
  std::vector<double> latest_, ready_;  // [num_ops] [ns]
};

}  // namespace emplace
