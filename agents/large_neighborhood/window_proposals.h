#pragma once

// Changes of a placement that come from its schedule: a window of groups (windows.h) is placed
// anew, the rest stays.

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

  /// The placement that is changed. @param outcome  of it, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// Draws a window of 2^U groups, U uniform up to log2(largest).
  const Window& DrawWindow(WindowKind kind, double largest, Rng& rng);
  /// One of the devices that a group may run on, each as likely.
  int DrawDevice(int group, Rng& rng) const;

  /// Adds a neighbour of `base`: all groups of a window of up to half of all groups that may run
  /// there go to one device: the idle one, that of a random neighbour or any other.
  /// @param base  the placement of Set() or a later one of the same search: windows then are those
  ///   of the older schedule
  /// @return false: they are there already, and nothing is added
  bool ProposeTogether(WindowKind kind, const Placement& base, Rng& rng, MoveLists& lists);

  /// Whether the schedule has anything to place by its times.
  bool any_times() const { return !view_.by_start().empty(); }
  /// Begins proposals by list scheduling that change `base`.
  void BeginLists(const Placement& base);
  /// Adds a neighbour of that: the groups of a window of up to `largest` are placed by their
  /// starts, each where it would finish first (by the estimates of schedule_view.h), or with
  /// probability 1/4 on another device. @pre any_times()
  /// @return false: they are there already, and nothing is added
  bool ProposeList(WindowKind kind, double largest, Rng& rng, MoveLists& lists);

 private:
  const Problem& problem_;
  ScheduleView view_;
  WindowDrawer drawer_;
  Window window_;
  // Of windows that list scheduling places.
  std::vector<char> freed_;    // [num_groups]
  Placement base_, placed_;    // placed_: base_ and what has been placed of the window
  std::vector<Nanos> finish_;  // [num_ops] likewise
};

}  // namespace emplace
