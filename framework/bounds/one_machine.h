#pragma once

// The one-machine bound: a lower bound on the time that a machine needs for a set of jobs if it
// does one at a time.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "framework/base/time.h"

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

}  // namespace emplace
