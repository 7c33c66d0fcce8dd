#pragma once

// What a network is told of a change of a placement: some groups go to other devices. Every number
// is relative to the placement's step time, to a memory or a count, so that it means the same on
// every graph and cluster, and the row has the same length whatever moves: a network trained on
// some problems can judge the moves of others.

#include <array>
#include <span>
#include <vector>

#include "agents/learned/schedule_facts.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

class MoveFeatures {
 public:
  static constexpr int kCount = 34;
  /// What each number is, for readers of tables; those called sqrt(x) are sign(x) sqrt(|x|).
  static const std::array<const char*, kCount>& Names();

  /// @param problem  outlives this
  explicit MoveFeatures(const Problem& problem);

  /// The placement that is changed. @param outcome  of it, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// @param moves  no group twice; at least one leaves its device
  /// @param row    [kCount], to be written
  void Write(std::span<const Move> moves, std::span<float> row);

 private:
  struct Sums;
  void AddEdges(const Move& move, Sums& sums) const;
  /// Where a group is after the moves given to Write().
  int After(int group) const {
    return moved_[group] ? target_[group] : facts_.placement().device[group];
  }

  const Problem& problem_;
  ScheduleFacts facts_;
  double least_work_ = 0;     // of all groups, each where it is fastest [ns]
  double mean_load_ = 0;      // over the devices
  double any_deficit_ = 0;    // 1: the placement does not fit
  std::vector<char> moved_;   // [num_groups] by the moves at hand
  std::vector<int> target_;   // [num_groups] of those
  std::vector<double> load_;  // [num_devices] after them
};

}  // namespace emplace
