#pragma once

#include <span>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

/// A partition of the ops into groups that are placed together. Ops are still simulated one by one,
/// so two groups may depend on each other in both directions without a cycle.
class Grouping {
 public:
  /// Returns the grouping in which every op is its own group.
  static Grouping Identity(int num_ops);
  /// @param label_of_op  [num_ops] any integers; ops with equal labels form a group. Groups are
  ///   numbered in the order of their least op ids.
  explicit Grouping(std::span<const int> label_of_op);

  int num_ops() const { return static_cast<int>(group_of_op_.size()); }
  int num_groups() const { return static_cast<int>(members_.offsets.size()) - 1; }
  int group_of(int op) const { return group_of_op_[op]; }
  std::span<const int> group_of_op() const { return group_of_op_; }
  /// Returns the ops of a group, ascending.
  std::span<const int> members(int group) const { return members_[group]; }

 private:
  std::vector<int> group_of_op_;
  Adjacency members_;
};

}  // namespace emplace
