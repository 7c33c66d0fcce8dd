#pragma once

// Inputs of the policy for every pair of a group and a device, given a placement and the schedule
// of its step. Times are shares of the step time and bytes shares of a memory or of a sum, so that
// values are comparable between graphs and clusters. Devices have neither names nor an order: a
// permutation of the devices permutes the rows of each group.

#include <array>
#include <memory>
#include <vector>

#include "agents/shared/schedule_facts.h"
#include "framework/learn/matrix.h"
#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

/// Returns a matrix [num_groups, num_devices] with 1 where a group may run.
Matrix AllowedPairs(const Problem& problem);

class PairFeatures {
 public:
  static constexpr int kCount = 32;
  /// Returns the name of each feature; sqrt(x) stands for sign(x) sqrt(|x|).
  static const std::array<const char*, kCount>& Names();

  /// @param problem  outlives this
  explicit PairFeatures(const Problem& problem);

  /// Computes the features of a placement. @param outcome  of the placement, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// Returns the features [num_groups * num_devices, kCount]. Row g * num_devices + d has those of
  /// pair (g, d), all 0 if the pair is not allowed.
  const Matrix& values() const { return values_; }
  const Placement& placement() const { return facts_.placement(); }
  /// Returns each group's share of the work in the placement: [num_groups].
  const std::vector<float>& work() const { return work_; }

  /// Return the neighbours that come earlier or later in the order of the groups: row g has their
  /// shares of the time of g's messages. [num_groups, num_groups]
  const std::shared_ptr<const SparseMatrix>& earlier() const { return earlier_; }
  const std::shared_ptr<const SparseMatrix>& later() const { return later_; }
  const Problem& problem() const { return problem_; }

 private:
  void SetMessages(int group);

  const Problem& problem_;
  ScheduleFacts facts_;
  std::vector<int> position_;          // [num_groups] in the order of the groups
  std::vector<double> least_, bytes_;  // [num_groups] least cost [ns]; bytes to all neighbours [B]
  std::vector<double> link_;           // [num_devices] log(its mean message time / that of all)
  double least_work_ = 0, resident_ = 0;  // of all groups [ns], [B]
  std::shared_ptr<const SparseMatrix> earlier_, later_;
  Matrix values_;
  std::vector<float> work_;
  // For the current group, on each device: time of its messages, time of the critical ones, and the
  // share of the bytes from earlier and to later groups that stays on the device.
  std::vector<double> messages_, critical_, from_, to_;
};

}  // namespace emplace
