#pragma once

// Plans partitions of unequal size from one even split. CUDA requires all partitions of a GPU to
// come from a single split call, and that call makes groups of one size. So a partition consists of
// several groups. Makes no CUDA calls.

#include <span>
#include <vector>

namespace emplace::cuda {

/// One way to split the streaming multiprocessors (SMs) of a GPU.
struct SplitPlan {
  int group_size = 0;  ///< SMs of every group of the split
  int num_groups = 0;  ///< groups needed
  /// The groups of each partition, ascending; every group is in exactly one.
  std::vector<std::vector<int>> groups;
};

/// Returns the splits that give partitions of these sizes, in descending order of group size.
/// Several are needed because a GPU may refuse one. A group does not extend across the hardware's
/// clusters of SMs, so there may be fewer large groups than the number of SMs suggests.
/// @param sizes    SMs of each partition, multiples of `minimum`
/// @param minimum  size of the smallest group that the GPU makes
std::vector<SplitPlan> PlanSplits(std::span<const int> sizes, int minimum);

}  // namespace emplace::cuda
