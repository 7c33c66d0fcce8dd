#pragma once

// Partitions of unequal size out of one even split. All partitions of a GPU must come from a single
// split call, and that call makes groups of one size; a partition is made of several groups. Plain
// host code.

#include <span>
#include <vector>

namespace emplace::cuda {

struct SplitPlan {
  int group_size = 0;                    ///< SMs of every group of the split
  int num_groups = 0;                    ///< groups needed
  std::vector<std::vector<int>> groups;  ///< of each partition, ascending; together each once
};

/// Splits that give partitions of these sizes, the one with the largest groups first: a GPU may
/// have fewer large groups than its SMs would make, because a group does not straddle its clusters.
/// @param sizes    SMs of each partition, multiples of `minimum`
/// @param minimum  the smallest group that the GPU makes
std::vector<SplitPlan> PlanSplits(std::span<const int> sizes, int minimum);

}  // namespace emplace::cuda
