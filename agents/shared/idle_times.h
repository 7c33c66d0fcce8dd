#pragma once

// When one slot of a device has nothing to do, for list schedules that insert ops between others.

#include <cstdint>
#include <utility>
#include <vector>

#include "framework/base/time.h"

namespace emplace {

/// Disjoint idle intervals, the last of which never ends; at first all time is idle. An interval
/// that is long enough is found without a look at those before it that are not, so that every call
/// takes O(log intervals), expected.
class IdleTimes {
 public:
  /// Earliest start at or after `ready` of `duration` > 0 of idle time. [ns]
  Nanos EarliestStart(Nanos ready, Nanos duration) const;
  /// Takes [start, start + duration), which must be idle.
  void Take(Nanos start, Nanos duration);
  /// End of the last interval that was taken, 0 before the first: from here on all is idle. [ns]
  Nanos end() const { return end_; }

 private:
  // The intervals before end() as a treap: a search tree by start, a heap by a scrambled number,
  // which keeps it as flat as a random tree. Each node knows the longest interval below it.
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
  std::vector<int> unused_;  // of gaps_
  std::vector<int> path_;    // from the root to the gap at hand
  int root_ = kNone;
  Nanos end_ = 0;
};

}  // namespace emplace
