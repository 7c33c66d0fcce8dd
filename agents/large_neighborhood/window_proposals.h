#pragma once

// Proposes changes of a placement based on its schedule: a window of groups (windows.h) is placed
// again, the other groups keep their devices.

#include <vector>

#include "agents/large_neighborhood/schedule_view.h"
#include "agents/large_neighborhood/windows.h"
#include "agents/shared/moves.h"
#include "framework/base/random.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

class WindowProposer {
 public:
  /// @param problem  some group has a choice; outlives this
  explicit WindowProposer(const Problem& problem);

  /// Sets the placement that is changed. @param outcome  of the placement, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// Draws a window of 2^U groups, U uniform up to log2(largest).
  const Window& DrawWindow(WindowKind kind, double largest, Rng& rng);
  /// Returns one of the devices that a group may run on, drawn uniformly.
  int DrawDevice(int group, Rng& rng) const;

  /// Adds a neighbour of `base`: all groups of a window that may run there go to one device, which
  /// is the idle one, that of a random neighbour, or any other. The window has up to half of all
  /// groups.
  /// @param base  the placement of Set() or a later one of the same search; the schedule is then
  ///   the older one
  /// @return false if all are there already; nothing is added
  bool ProposeTogether(WindowKind kind, const Placement& base, Rng& rng, MoveLists& lists);

  /// Returns true if the schedule has ops with times.
  bool any_times() const { return !view_.by_start().empty(); }
  /// Begins proposals by list scheduling that change `base`.
  void BeginLists(const Placement& base);
  /// Adds a neighbour of that placement: the groups of a window of up to `largest` groups are
  /// placed in the order of their starts, each where it would finish first (by the estimates of
  /// schedule_view.h), or with probability 1/4 on another device. @pre any_times()
  /// @return false if all are there already; nothing is added
  bool ProposeList(WindowKind kind, double largest, Rng& rng, MoveLists& lists);

 private:
  const Problem& problem_;
  ScheduleView view_;
  WindowDrawer drawer_;
  Window window_;
  // For windows that list scheduling places.
  std::vector<char> freed_;    // [num_groups]
  Placement base_, placed_;    // placed_: base_ with the groups placed so far
  std::vector<Nanos> finish_;  // [num_ops] of placed_
};

}  // namespace emplace
