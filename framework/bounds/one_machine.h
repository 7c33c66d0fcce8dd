#pragma once

// The one-machine bound: a lower bound on the time that a machine needs for a set of jobs if it
// does one at a time.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/cluster/cluster.h"

namespace emplace {

struct Job {
  Nanos head = 0;  ///< earliest start [ns]
  Nanos time = 0;  ///< on the machine [ns]
  /// Least time from its finish to the end of the schedule; below 0 if it may end later. [ns]
  Nanos tail = 0;
};

/// Returns an op as a job. @param gap  time for which its slot stays busy after it [ns]
inline Job JobOf(Nanos finish, Nanos cost, Nanos gap, Nanos tail) {
  return {finish - cost, cost + gap, tail - gap};
}

/// The set of all jobs with at least this head and this tail.
struct JobSet {
  Nanos head = 0, tail = 0;  ///< [ns]
  Nanos bound = 0;           ///< head + times of the jobs + tail [ns]
};

/// Finds the set of jobs with the largest bound. This bound is the least makespan if jobs may be
/// interrupted (Jackson's preemptive schedule: the waiting job with the longest tail runs first),
/// so it is also a lower bound without interruptions. O(n log n). J. Carlier, The one-machine
/// sequencing problem, European Journal of Operational Research 11 (1982).
/// @param jobs  in any order; is sorted by head
/// @return zeros if there are no jobs
JobSet CriticalJobs(std::vector<Job>& jobs);

/// Returns the bound of CriticalJobs() for a machine with several slots.
/// @param slots  jobs that the machine does at once, >= 1. A job may be spread over all of them and
///   then takes time / slots, rounded down if there are more than 16 slots.
Nanos OneMachineBound(std::vector<Job>& jobs, int slots = 1);

/// Removes from `mask` the devices for which time_on(device) [ns] is more than `target`.
/// @param mask     not 0
/// @param changed  becomes true if a device is removed
/// @return the least time_on() of the devices in the mask [ns]; if that is more than `target`, the
///   mask is not changed
template <class TimeOn>
Nanos KeepFitting(std::uint64_t& mask, Nanos target, bool& changed, const TimeOn& time_on) {
  std::uint64_t fitting = 0;
  Nanos least = kMaxNanos;
  for (std::uint64_t rest = mask; rest; rest &= rest - 1) {
    const Nanos time = time_on(std::countr_zero(rest));
    least = std::min(least, time);
    if (time <= target) fitting |= rest & -rest;
  }
  if (fitting != 0) {
    changed = changed || fitting != mask;
    mask = fitting;
  }
  return least;
}

/// An item that an op makes on one device and another op awaits on another device.
struct SentItem {
  int maker;           ///< items with equal maker and destination count once
  int from, to;        ///< two distinct devices
  std::int64_t bytes;  ///< [B]
  Nanos head;          ///< earliest time at which it is made [ns]
  Nanos tail;          ///< least time from its arrival to the end of the step [ns]

  /// Orders items by maker and destination.
  static bool ComesBefore(const SentItem& a, const SentItem& b) {
    return std::pair(a.maker, a.to) < std::pair(b.maker, b.to);
  }
};

/// A lower bound on the time that channels need for the items sent over them. A channel sends one
/// item at a time; each has a head before it and a tail after it.
class ChannelBound {
 public:
  /// @param cluster  outlives this
  explicit ChannelBound(const Cluster& cluster);

  /// Returns the largest bound over the channels with at least two items; 0 if there is none. Of
  /// several items from one maker to one device only the largest counts; of equally large items,
  /// that with the longest tail. Broadcast channels are left out, as items may share a transfer
  /// there.
  /// @param sent  is reordered
  Nanos operator()(std::vector<SentItem>& sent);

  /// Returns the transfers of the last call that occupy a slot of a device. Those over broadcast
  /// channels are left out.
  std::span<const Job> occupying(int device) const { return occupying_[device]; }

 private:
  const Cluster& cluster_;
  std::vector<std::vector<Job>> jobs_;       // [num_channels]
  std::vector<std::vector<Job>> occupying_;  // [num_devices]
};

}  // namespace emplace
