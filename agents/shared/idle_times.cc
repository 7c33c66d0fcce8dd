#include "agents/shared/idle_times.h"

#include <algorithm>
#include <tuple>

#include "framework/base/error.h"

namespace emplace {
namespace {

/// Hashes a 32-bit number; a permutation (C. Wellons, "lowbias32").
std::uint32_t Scramble(std::uint32_t number) {
  number = (number ^ (number >> 16)) * 0x7feb352d;
  number = (number ^ (number >> 15)) * 0x846ca68b;
  return number ^ (number >> 16);
}

}  // namespace

/// Returns the first gap that starts after `time` and is at least `duration` long.
int IdleTimes::FirstBehind(int root, Nanos time, Nanos duration) const {
  if (Longest(root) < duration) return kNone;
  const Gap& gap = gaps_[root];
  if (gap.start > time) {
    const int before = FirstBehind(gap.left, time, duration);
    if (before != kNone) return before;
    if (gap.end - gap.start >= duration) return root;
  }
  return FirstBehind(gap.right, time, duration);
}

Nanos IdleTimes::EarliestStart(Nanos ready, Nanos duration) const {
  if (ready >= end_) return ready;
  int around = kNone;  // the last gap that starts at `ready` or before
  for (int at = root_; at != kNone;) {
    const bool starts_before = gaps_[at].start <= ready;
    if (starts_before) around = at;
    at = starts_before ? gaps_[at].right : gaps_[at].left;
  }
  if (around != kNone && gaps_[around].end - ready >= duration) return ready;
  const int behind = FirstBehind(root_, ready, duration);
  return behind != kNone ? gaps_[behind].start : end_;
}

void IdleTimes::Take(Nanos start, Nanos duration) {
  const Nanos end = start + duration;
  if (start >= end_) {
    if (start > end_) Insert(end_, start);
    end_ = end;
    return;
  }
  path_.clear();
  std::size_t depth = 0;  // depth of the gap around `start`
  for (int at = root_; at != kNone;) {
    path_.push_back(at);
    const bool starts_before = gaps_[at].start <= start;
    if (starts_before) depth = path_.size();
    at = starts_before ? gaps_[at].right : gaps_[at].left;
  }
  path_.resize(depth);
  EMPLACE_CHECK(depth > 0 && end <= gaps_[path_.back()].end, "the interval is not idle");
  const int taken = path_.back();
  Gap& gap = gaps_[taken];
  const Nanos idle_until = gap.end;
  const bool remains_before = gap.start < start, remains_behind = end < idle_until;
  if (!remains_before && !remains_behind) {
    LinkTo(taken) = Merge(gap.left, gap.right);
    unused_.push_back(taken);
    path_.pop_back();
  } else {
    (remains_before ? gap.end : gap.start) = remains_before ? start : end;
  }
  RefreshPath();
  if (remains_before && remains_behind) Insert(end, idle_until);
}

void IdleTimes::Refresh(int root) {
  Gap& gap = gaps_[root];
  gap.longest = std::max({gap.end - gap.start, Longest(gap.left), Longest(gap.right)});
}

void IdleTimes::RefreshPath() {
  std::for_each(path_.rbegin(), path_.rend(), [this](int at) { Refresh(at); });
}

/// Returns the link (of the parent or the root) to the last gap of the path.
int& IdleTimes::LinkTo(int gap) {
  if (path_.size() == 1) return root_;
  Gap& parent = gaps_[path_[path_.size() - 2]];
  return parent.left == gap ? parent.left : parent.right;
}

/// Splits the tree into the gaps that start before `start` and the others.
std::pair<int, int> IdleTimes::Split(int root, Nanos start) {
  if (root == kNone) return {kNone, kNone};
  Gap& gap = gaps_[root];
  int before = root, others = root;
  if (gap.start < start) {
    std::tie(gap.right, others) = Split(gap.right, start);
  } else {
    std::tie(before, gap.left) = Split(gap.left, start);
  }
  Refresh(root);
  return {before, others};
}

/// Joins two trees; all gaps of `left` are before those of `right`.
int IdleTimes::Merge(int left, int right) {
  if (left == kNone || right == kNone) return left == kNone ? right : left;
  const bool left_on_top = gaps_[left].priority > gaps_[right].priority;
  const int top = left_on_top ? left : right;
  if (left_on_top) {
    gaps_[top].right = Merge(gaps_[top].right, right);
  } else {
    gaps_[top].left = Merge(left, gaps_[top].left);
  }
  Refresh(top);
  return top;
}

void IdleTimes::Insert(Nanos start, Nanos end) {
  int added = static_cast<int>(gaps_.size());
  if (unused_.empty()) {
    gaps_.push_back({start, end, end - start, Scramble(static_cast<std::uint32_t>(added))});
  } else {
    added = unused_.back();
    unused_.pop_back();
    gaps_[added] = {start, end, end - start, gaps_[added].priority};
  }
  path_.clear();
  int* link = &root_;
  while (*link != kNone && gaps_[*link].priority > gaps_[added].priority) {
    path_.push_back(*link);
    link = start < gaps_[*link].start ? &gaps_[*link].left : &gaps_[*link].right;
  }
  std::tie(gaps_[added].left, gaps_[added].right) = Split(*link, start);
  *link = added;
  path_.push_back(added);
  RefreshPath();
}

}  // namespace emplace
