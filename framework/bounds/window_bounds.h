#pragma once

// Bounds on the whole step from the heads and tails of a DelayGraph. An op on device d starts no
// earlier than its head, and the step ends no earlier than the op's finish plus its tail. So each
// op has a time window, and the windows bound the step in these ways:
//
//   paths    max over ops of min over devices of head + cost + tail
//   groups   max over groups of min over devices of the time that the ops of the group need there
//            one after another (one_machine.h)
//   devices  max over devices of the time that the ops of all groups that must be there need
//   work     max over sets S of ops of  min head + W(S) + min tail,  where W(S) is the least time
//            in which all devices together do the work of S, with groups kept whole (work_bound.h),
//            and heads and tails are the least over the devices. Sets are proposed by a one-machine
//            problem in which the time of an op is its cost at the prices of the set before. The
//            bound holds for any set.
//
// An op keeps its slot busy for the gap after it.
//
// For a step of at most T, groups lose the devices on which paths or groups exceed T, and fewer
// devices raise all bounds. If a bound exceeds T, no step takes T. So the bounds prove values
// larger than themselves (destructive bounds: R. Klein, A. Scholl, Computing lower bounds by
// destructive improvement, European Journal of Operational Research 112 (1999)).

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/one_machine.h"

namespace emplace {

/// Selects the bounds; each value includes those before it.
enum class WindowParts : std::uint8_t {
  kDevices,  ///< paths and devices: one or a few passes over the graph
  kGroups,   ///< takes about twice as long
  kWork,     ///< takes several linear programs
};

class WindowBounds {
 public:
  /// @param graph  outlives this; edges may be added to it later
  explicit WindowBounds(const DelayGraph& graph);

  /// Returns a bound on the steps of at most `target`, for placements within the masks; more than
  /// `target` if there are none.
  /// @param masks   never 0; lose the devices that no such step can use
  /// @param target  kMaxNanos for every step [ns]
  Nanos Bound(DeviceMasks& masks, Nanos target, WindowParts parts);

 private:
  Nanos Paths(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Groups(DeviceMasks& masks, Nanos target, bool& changed);
  Nanos Devices(const DeviceMasks& masks);
  Nanos Work(const DeviceMasks& masks);
  std::vector<Nanos> CostsOfGroups(const DeviceMasks& masks, std::span<const int> set) const;
  std::vector<int> CriticalSet(const DeviceMasks& masks, std::span<const double> price);
  void AddJob(int op, int device);
  Nanos finish(int op, int device) const { return finish_[size_t(op) * num_devices_ + device]; }
  Nanos tail(int op, int device) const { return tail_[size_t(op) * num_devices_ + device]; }

  const DelayGraph& graph_;
  int num_devices_;
  Nanos most_gap_ = 0;                          // of a device
  std::vector<std::vector<int>> ops_;           // [num_groups]
  std::vector<Nanos> finish_, tail_;            // [num_ops, num_devices]
  std::vector<Nanos> least_head_, least_tail_;  // [num_ops]
  std::vector<Job> jobs_;
};

/// Returns the best of these bounds for all placements, with T found by bisection.
/// @param steps  of the bisection; each takes a few passes over the graph
/// @param known   step time of a known placement; only smaller T are tried [ns]
/// @param proved  a proven bound: unless these bounds refute T = `proved`, no other T is tried [ns]
/// @return at least `proved` if steps > 0
Nanos BoundByWindows(const DelayGraph& graph, int steps, Nanos known = kMaxNanos, Nanos proved = 0);

}  // namespace emplace
