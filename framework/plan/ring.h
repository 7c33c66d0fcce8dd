#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/cluster/cluster.h"

namespace emplace {

/// Returns "all_gather", "all_reduce", "all_to_all", "reduce_scatter".
const std::vector<std::string>& CollectiveNames();

/// Returns the time of a collective of n members by a ring: n - 1 steps, 2 (n - 1) of an
/// all-reduce, in each of which every member sends ceil(bytes / n) to the next one. A step takes as
/// long as its slowest transfer. [ns]
/// @param name     of CollectiveNames()
/// @param members  device indices, in the order of the ring
/// @param bytes    of the tensor; of an all-gather its output, of a reduce-scatter its input [B]
/// @throws InputError naming two neighbours without a route
Nanos RingTime(std::string_view name,
               const Cluster& cluster,
               std::span<const int> members,
               std::int64_t bytes);

}  // namespace emplace
