#pragma once

// Idle intervals of one slot of a device, for list schedules that insert ops between others.

#include <cstdint>
#include <utility>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Disjoint idle intervals. The last one is unbounded; at first all time is idle. Every call takes
/// O(log intervals) expected time: the search for an interval that is long enough skips the shorter
/// ones before it.
class IdleTimes {
 public:
  /// Returns the earliest start, at or after `ready`, of an idle interval of `duration` > 0. [ns]
  Nanos EarliestStart(Nanos ready, Nanos duration) const;
  /// Marks [start, start + duration), which must be idle, as busy.
  void Take(Nanos start, Nanos duration);
  /// Returns the end of the last busy interval, 0 if there is none; all later time is idle. [ns]
  Nanos end() const { return end_; }

 private:
  // The intervals before end() as a treap: a search tree by start and a heap by pseudo-random
  // priority, which keeps the expected depth logarithmic. Each node stores the longest interval of
  // its subtree.
  struct Gap {
    Nanos start, end, longest;
    std::uint32_t priority;
    int left = kNone, right = kNone;
  };
  static constexpr int kNone = -1;

  Nanos Longest(int root) const { return root == kNone ? 0 : gaps_[root].longest; }
  int FirstBehind(int root, Nanos time, Nanos duration) const;
  void Refresh(int root);
  void RefreshPath();
  int& LinkTo(int gap);
  std::pair<int, int> Split(int root, Nanos start);
  int Merge(int left, int right);
  void Insert(Nanos start, Nanos end);

  std::vector<Gap> gaps_;
  std::vector<int> unused_;  // free entries of gaps_
  std::vector<int> path_;    // from the root to the current gap
  int root_ = kNone;
  Nanos end_ = 0;
};

}  // namespace emplace
