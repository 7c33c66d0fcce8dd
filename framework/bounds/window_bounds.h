#pragma once

// What heads and tails of a DelayGraph prove about the whole step. An op that is on device d starts
// no earlier than its head, and the step ends no earlier than its tail after its finish. So each op
// has a window, and windows bound the step in these ways:
//
//   paths    max over ops of min over devices of head + cost + tail
//   groups   max over groups of min over devices of what the ops of the group need there one after
//            another (one_machine.h)
//   devices  max over devices of what the ops of all groups that have no other choice need there
//   work     max over sets S of ops of  min head + W(S) + min tail,  with W(S) the least time in
//            which all devices together do the work of S, a group staying whole (work_bound.h), and
//            heads and tails the least over the devices. Sets are proposed by the one-machine
//            problem in which an op takes what it costs at the prices of the set before; whatever
//            set it is, what is proved of it holds.
//
// If a step is to take at most T, groups lose the devices on which paths or groups exceed T, and
// with fewer devices all bounds grow. Where one exceeds T, no step takes T: so they prove more than
// they are (destructive bounds: R. Klein, A. Scholl, Computing lower bounds by destructive
// improvement, European Journal of Operational Research 112 (1999)).

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/bounds/delay_graph.h"
#include "framework/bounds/one_machine.h"

namespace emplace {

/// Which of these bounds, each with those before it.
enum class WindowParts : std::uint8_t {
  kDevices,  ///< paths and devices: one pass over the graph or a few
  kGroups,   ///< about twice as long
  kWork,     ///< several linear programmes
};

class WindowBounds {
 public:
  /// @param graph  outlives this; edges may be added to it later
  explicit WindowBounds(const DelayGraph& graph);

  /// A bound on the steps that are at most `target`, of placements within the masks; more than
  /// `target` if there are none.
  /// @param masks   none is 0; those devices go that no such step can use
  /// @param target  kMaxNanos: every step [ns]
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
  std::vector<std::vector<int>> ops_;           // [num_groups]
  std::vector<Nanos> finish_, tail_;            // [num_ops, num_devices]
  std::vector<Nanos> least_head_, least_tail_;  // [num_ops]
  std::vector<Job> jobs_;
};

/// The best of these bounds for all placements, T found by bisection.
/// @param steps  of the bisection, each a few passes over the graph
/// @param known   a placement with this step is known, so that no greater T is tried [ns]
/// @param proved  no step is shorter: if these bounds do not disprove T = `proved`, no other T is
///   tried [ns]
/// @return at least `proved` if steps > 0
Nanos BoundByWindows(const DelayGraph& graph, int steps, Nanos known = kMaxNanos, Nanos proved = 0);

}  // namespace emplace
