#pragma once

// The one-machine bound: how long a set of jobs takes at least on a machine that does one at a
// time.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

struct Job {
  Nanos head = 0;  ///< it starts no earlier [ns]
  Nanos time = 0;  ///< on the machine [ns]
  Nanos tail = 0;  ///< from its finish to the end of all [ns]
};

/// All jobs with at least this head and this tail.
struct JobSet {
  Nanos head = 0, tail = 0;  ///< [ns]
  Nanos bound = 0;           ///< head + times of the jobs + tail [ns]
};

/// The set of jobs with the largest bound. This bound is the least makespan when jobs may be
/// interrupted (Jackson's preemptive schedule: of the jobs that wait the one with the longest tail
/// first), and so a lower bound without interruptions, too. O(n log n). J. Carlier, The one-machine
/// sequencing problem, European Journal of Operational Research 11 (1982).
/// @param jobs  in any order; left in the order of their heads
/// @return zeros without jobs
JobSet CriticalJobs(std::vector<Job>& jobs);

/// The bound alone.
/// @param slots  jobs that the machine does at once, >= 1. A job may then be spread over all of
/// them
///   and takes time / slots; rounded down if there are more than 16.
Nanos OneMachineBound(std::vector<Job>& jobs, int slots = 1);

/// Takes from `mask` the devices on which time_on(device) [ns] is more than `target`.
/// @param mask  not 0
/// @return the least time_on() of all that were in it [ns]; if that is more than `target`, the mask
///   stays as it is
template <class TimeOn>
Nanos KeepFitting(std::uint64_t& mask, Nanos target, const TimeOn& time_on) {
  std::uint64_t fitting = 0;
  Nanos least = kMaxNanos;
  for (std::uint64_t rest = mask; rest; rest &= rest - 1) {
    const Nanos time = time_on(std::countr_zero(rest));
    least = std::min(least, time);
    if (time <= target) fitting |= rest & -rest;
  }
  if (fitting != 0) mask = fitting;
  return least;
}

}  // namespace emplace
