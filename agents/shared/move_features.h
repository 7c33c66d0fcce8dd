#pragma once

// Inputs of a network that judges a change of a placement, in which some groups move to other
// devices. Every number is relative to the placement's step time, to a memory or to a count, so
// that values are comparable between graphs and clusters. The row has the same length for any
// number of moves. A network trained on some problems can therefore judge the moves of others.

#include <array>
#include <span>
#include <vector>

#include "agents/shared/schedule_facts.h"
#include "framework/search/evaluator.h"
#include "framework/search/problem.h"

namespace emplace {

class MoveFeatures {
 public:
  static constexpr int kCount = 34;
  /// Returns the name of each feature, for readers of tables; sqrt(x) stands for sign(x) sqrt(|x|).
  static const std::array<const char*, kCount>& Names();

  /// @param problem  outlives this
  explicit MoveFeatures(const Problem& problem);

  /// Sets the placement that is changed. @param outcome  of the placement, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// Writes the features of some moves.
  /// @param moves  no group twice; at least one leaves its device
  /// @param row  [kCount]
  void Write(std::span<const Move> moves, std::span<float> row);

 private:
  struct Sums;
  void AddEdges(const Move& move, Sums& sums) const;
  /// Returns the device of a group after the moves given to Write().
  int After(int group) const {
    return moved_[group] ? target_[group] : facts_.placement().device[group];
  }

  const Problem& problem_;
  ScheduleFacts facts_;
  double least_work_ = 0;     // of all groups, each on its fastest device [ns]
  double mean_load_ = 0;      // over the devices
  double any_deficit_ = 0;    // 1 if the placement does not fit, else 0
  std::vector<char> moved_;   // [num_groups] 1 if moved by the current moves
  std::vector<int> target_;   // [num_groups] new devices of the moved groups
  std::vector<double> load_;  // [num_devices] after the current moves
};

}  // namespace emplace
