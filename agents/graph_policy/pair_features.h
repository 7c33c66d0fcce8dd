#pragma once

// What the policy is told of every pair of a group and a device, given a placement and the schedule
// of its step. Times are shares of the step time, bytes shares of a memory or of a sum, so that
// they mean the same on every graph and cluster. Devices have no names and no order: permuting them
// permutes the rows of each group.

#include <array>
#include <memory>
#include <vector>

#include "agents/learned/schedule_facts.h"
#include "framework/learn/matrix.h"
#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

class PairFeatures {
 public:
  static constexpr int kCount = 32;
  /// What each number is; those called sqrt(x) are sign(x) sqrt(|x|).
  static const std::array<const char*, kCount>& Names();

  /// @param problem  outlives this
  explicit PairFeatures(const Problem& problem);

  /// The placement that is looked at. @param outcome  of it, with op_times
  void Set(const Placement& placement, const Outcome& outcome);

  /// Of pair (g, d) in row g * num_devices + d; of a pair that is not allowed all 0.
  /// [num_groups * num_devices, kCount]
  const Matrix& values() const { return values_; }
  const Placement& placement() const { return facts_.placement(); }
  /// The share of the work, each group where it is, that a group has. [num_groups]
  const std::vector<float>& work() const { return work_; }

  /// Neighbours that come earlier or later in the order of the groups: row g has the shares that
  /// they have in the time of g's messages. [num_groups, num_groups]
  const std::shared_ptr<const SparseMatrix>& earlier() const { return earlier_; }
  const std::shared_ptr<const SparseMatrix>& later() const { return later_; }
  const Problem& problem() const { return problem_; }

 private:
  void SetMessages(int group);

  const Problem& problem_;
  ScheduleFacts facts_;
  std::vector<int> position_;          // [num_groups] in the order of the groups
  std::vector<double> least_, bytes_;  // [num_groups] least cost [ns]; bytes to all neighbours [B]
  std::vector<double> link_;           // [num_devices] log of its mean message over that of all
  double least_work_ = 0, resident_ = 0;  // of all groups [ns], [B]
  std::shared_ptr<const SparseMatrix> earlier_, later_;
  Matrix values_;
  std::vector<float> work_;
  // Of a group at hand, on each device: time of its messages, of the critical ones, and the share
  // of its bytes that stay there, from earlier and to later groups.
  std::vector<double> messages_, critical_, from_, to_;
};

}  // namespace emplace
