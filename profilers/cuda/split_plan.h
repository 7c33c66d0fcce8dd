#pragma once

// Partitions of unequal size out of one even split. CUDA wants all partitions of a GPU to come from
// a single split call, and that call makes groups of one size; so a partition is made of several
// groups. Makes no CUDA calls.

#include <span>
#include <vector>

namespace emplace::cuda {

/// One way to split a GPU's streaming multiprocessors (SMs).
struct SplitPlan {
  int group_size = 0;                    ///< SMs of every group of the split
  int num_groups = 0;                    ///< groups needed
  std::vector<std::vector<int>> groups;  ///< of each partition, ascending; together each once
};

/// Splits that give partitions of these sizes, the one with the largest groups first. Several are
/// needed because a GPU may refuse one: a group does not reach across the hardware's clusters of
/// SMs, so there may be fewer large groups than the number of SMs suggests.
/// @param sizes    SMs of each partition, multiples of `minimum`
/// @param minimum  the smallest group that the GPU makes
std::vector<SplitPlan> PlanSplits(std::span<const int> sizes, int minimum);

}  // namespace emplace::cuda
